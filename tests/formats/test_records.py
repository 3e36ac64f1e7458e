"""Records in columns form the same sequence as single records."""

from hypothesis import given
from hypothesis import strategies as st

from stream_app.formats.records import InputRecord, Records

Fields = tuple[str, int, int, int, bytes | None, bytes | None]


def fields(record: InputRecord) -> Fields:
    """Return what a record holds."""
    return record.topic, record.partition, record.offset, record.timestamp_ms, record.key, record.value


@st.composite
def logs(draw: st.DrawFn) -> list[InputRecord]:
    """Records of one partition, with gaps between their offsets."""
    offsets = sorted(draw(st.sets(st.integers(0, 1_000), max_size=12)))
    maybe = st.none() | st.binary(max_size=4)
    return [InputRecord("t", 3, offset, draw(st.integers(0, 99)), draw(maybe), draw(maybe)) for offset in offsets]


@given(log=logs(), data=st.data())
def test_columns_are_the_single_records(log: list[InputRecord], data: st.DataObject) -> None:
    """Length, order, records and slices are those of the list, and joined slices give the whole again."""
    records = Records.of(log)
    assert len(records) == len(log)
    assert [fields(record) for record in records] == [fields(record) for record in log]
    assert [fields(records[at]) for at in range(-len(log), len(log))] == [fields(record) for record in log * 2]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=3)))
    stretches = [records[start:end] for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True)]
    assert [len(stretch) for stretch in stretches] == [
        len(log[start:end]) for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True)
    ]
    before = [len(stretch) for stretch in stretches]
    assert [fields(record) for record in Records.joined(stretches)] == [fields(record) for record in log]
    assert [len(stretch) for stretch in stretches] == before


def test_columns_do_not_show_themselves() -> None:
    """Their repr gives their place, but no key and no value."""
    records = Records.of([InputRecord("t", 3, offset, 0, b"who", b"what") for offset in (4, 7)])
    assert repr(records) == "Records('t', 3, offsets 4 to 7)"
    assert repr(records[:0]) == "Records('t', 3)"
