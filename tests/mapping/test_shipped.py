"""The shipped mappings, each on a file of its form, and files that mix several sorts of readings."""

import io
from pathlib import Path
from typing import Any, Final

import pytest

from stream_app.api import Error, read_events
from stream_app.mapping.inspection import inspected
from stream_app.mapping.members import shipped
from tests.mapping.mapped import PLAIN, events

_NIGHT: Final = 1_704_067_200_000  # 2024-01-01T00:00Z
_QUARTER: Final = 900_000
Events = list[tuple[int, Any]]

FILES: Final[dict[str, tuple[str, dict[str, Any], Events]]] = {
    "apple-health": (
        """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE HealthData [
<!ELEMENT HealthData (ExportDate,Record*)>
<!ATTLIST HealthData locale CDATA #REQUIRED>
]>
<HealthData locale="en_US"><ExportDate value="2026-09-01 12:00:00 -0500"/>
<Record type="HKQuantityTypeIdentifierStepCount" sourceName="x" startDate="2023-12-31 16:00:00 -0800" value="120"/>
<Record type="HKQuantityTypeIdentifierHeartRate" sourceName="x" startDate="2023-12-31 16:00:00 -0800" value="61">
 <MetadataEntry key="HKMetadataKeyHeartRateMotionContext" value="0"/>
</Record></HealthData>""",
        {"where": "type=HKQuantityTypeIdentifierHeartRate"},
        [(_NIGHT, 61)],
    ),
    "clarity": (
        """Index,Timestamp (YYYY-MM-DDThh:mm:ss),Event Type,Event Subtype,Glucose Value (mg/dL)
1,,FirstName,,
2,,Alert,High,250
3,2024-01-01T00:00:00,EGV,,98
4,2024-01-01T00:05:00,EGV,,Low
""",
        {"zone": "UTC"},
        [(_NIGHT, 98), (_NIGHT + 300_000, 40)],
    ),
    "dsmr": (
        """id,timestamp,electricity_delivered_1,electricity_returned_1
1,2024-01-01 00:00:00+00:00,100.000,0.000
2,2024-01-01 00:15:00+00:00,100.250,0.000
""",
        {},
        [(_NIGHT + _QUARTER, 0.25)],
    ),
    "enedis": (
        """Identifiant PRM;Unite;Pas en minutes
00000000000000;W;
Horodate;Valeur
2024-01-01T01:00:00+01:00;576
2024-01-01T01:30:00+01:00;
""",
        {},
        [(_NIGHT, 576)],
    ),
    "fitbit": (
        """[{"dateTime" : "01/01/24 00:00:00", "value" : {"bpm" : 70, "confidence" : 2}}]""",
        {},
        [(_NIGHT, 70)],
    ),
    "fluvius": (
        """\ufeffVan (datum);Van (tijdstip);Tot (datum);Tot (tijdstip);EAN-code;Register;Volume;Eenheid;Validatiestatus
01-01-2024;01:00:00;01-01-2024;01:15:00;="541";Afname Nacht;0,065;kWh;Uitgelezen
01-01-2024;01:00:00;01-01-2024;01:15:00;="541";Injectie Nacht;0,100;kWh;Uitgelezen
01-01-2024;01:15:00;01-01-2024;01:30:00;="541";Afname Nacht;;kWh;Geen verbruik
01-01-2024;01:15:00;01-01-2024;01:30:00;="541";Injectie Actief;0,1;kWh;Gevalideerd
""",
        {},
        [(_NIGHT, 0.065)],
    ),
    "geolife": (
        """Geolife trajectory
WGS 84
Altitude is in Feet
Reserved 3
0,2,255,My Track,0,0,2,8421376
0
40.000000,116.300000,0,492,45292.0,2024-01-01,00:00:00
""",
        {},
        [(_NIGHT, {"latitude": 40.0, "longitude": 116.3})],
    ),
    "google-records": (
        """{"locations": [
{"latitudeE7": 400030000, "longitudeE7": -750680000, "accuracy": 20, "timestamp": "2024-01-01T00:00:00Z"},
{"accuracy": 300, "timestamp": "2024-01-01T00:01:00.123Z"}]}""",
        {},
        [(_NIGHT, {"latitude": 40.003, "longitude": -75.068})],
    ),
    "google-timeline": (
        """{"semanticSegments": [
{"startTime": "2023-12-31T16:00:00.000-08:00", "timelinePath": [
 {"point": "30.1234567°, -97.7°", "time": "2023-12-31T16:00:00.000-08:00"}]},
{"startTime": "2023-12-31T17:00:00.000-08:00", "visit": {"topCandidate": {"placeId": "x"}}}],
"rawSignals": [], "userLocationProfile": {}}""",
        {},
        [(_NIGHT, {"latitude": 30.1234567, "longitude": -97.7})],
    ),
    "gpx": (
        """<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>
<trkpt lat="40.0" lon="116.3"><ele>10</ele><time>2024-01-01T00:00:00Z</time></trkpt>
</trkseg></trk></gpx>""",
        {},
        [(_NIGHT, {"latitude": 40.0, "longitude": 116.3})],
    ),
    "green-button": (
        """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xmlns:espi="http://naesb.org/espi">
<entry><content><espi:IntervalBlock>
<espi:interval><espi:start>1704067200</espi:start><espi:duration>900</espi:duration></espi:interval>
<espi:IntervalReading><espi:cost>1000</espi:cost><espi:ReadingQuality><espi:quality>17</espi:quality></espi:ReadingQuality>
<espi:timePeriod><espi:duration>900</espi:duration><espi:start>1704067200</espi:start></espi:timePeriod>
<espi:value>120</espi:value></espi:IntervalReading>
</espi:IntervalBlock></content></entry></feed>""",
        {"multiply": "0.001"},
        [(_NIGHT, 0.12)],
    ),
    "home-assistant": (
        """entity_id,state,last_changed
sensor.power,230.5,2024-01-01T00:00:00.000Z
sensor.power,unavailable,2024-01-01T00:15:00.000Z
""",
        {"series": None},
        [(_NIGHT, 230.5)],
    ),
    "homewizard": (
        """time,Import T1 kWh,Import T2 kWh
2024-01-01 00:45,1617.541,0.000
2024-01-01 01:00,1617.549,0.000
""",
        {},
        [(_NIGHT, 0.008)],
    ),
    "household-power": (
        """Date;Time;Global_active_power;Voltage
1/1/2024;00:00:00;3.450;234.840
1/1/2024;00:15:00;?;?
""",
        {},
        [(_NIGHT, 3.45)],
    ),
    "influxdb": (
        """#group,false,false,true,true,false,false,true,true
#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,double,string,string
#default,_result,,,,,,,
,result,table,_start,_stop,_time,_value,_field,_measurement
,,0,2024-01-01T00:00:00Z,2024-01-02T00:00:00Z,2024-01-01T00:00:00Z,18.3,temp,weather

#group,false,false,true,true,false,false,true,true,true
#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,long,string,string,string
#default,_result,,,,,,,,
,result,table,_start,_stop,_time,_value,_field,_measurement,host
,,1,2024-01-01T00:00:00Z,2024-01-02T00:00:00Z,2024-01-01T00:15:00Z,18,temp,weather,a
,,2,2024-01-01T00:00:00Z,2024-01-02T00:00:00Z,2024-01-01T00:15:00Z,62,humidity,weather,a
""",
        {"where": "_field=temp"},
        [(_NIGHT, 18.3), (_NIGHT + _QUARTER, 18)],
    ),
    "libreview": (
        """Glucose Data,Generated on,01-02-2024 08:00 PM UTC,Generated by,Ann Example
Device,Serial Number,Device Timestamp,Record Type,Historic Glucose mg/dL,Scan Glucose mg/dL
FreeStyle LibreLink,00000000-AAAA,01-01-2024 12:00 AM,0,98,
FreeStyle LibreLink,00000000-AAAA,01-01-2024 12:07 AM,1,,109
""",
        {"zone": "UTC"},
        [(_NIGHT, 98)],
    ),
    "nightscout": (
        """[{"_id": "2", "date": 1704067200000, "sgv": 107, "direction": "Flat", "type": "sgv"},
{"_id": "1", "date": 1704067100000, "mbg": 90, "type": "mbg"}]""",
        {},
        [(_NIGHT, 107)],
    ),
    "octopus": (
        """{"count": 1, "next": null, "results": [
{"consumption": 0.409, "interval_start": "2024-01-01T00:00:00Z", "interval_end": "2024-01-01T00:30:00Z"}]}""",
        {},
        [(_NIGHT, 0.409)],
    ),
    "octopus-csv": (
        """Consumption (kwh), Estimated Cost Inc. Tax (p), Standing Charge Inc. Tax (p), Start, End
0.409, 10.1, 40, 2024-01-01T00:00:00+00:00, 2024-01-01T00:30:00+00:00
""",
        {},
        [(_NIGHT, 0.409)],
    ),
    "owntracks": (
        """{"count": 2, "data": [{"_type": "location", "tid": "JJ", "lat": 48.1351, "lon": 11.582, "tst": 1704067200},
{"_type": "lwt", "tst": 1704067250}]}""",
        {},
        [(_NIGHT, {"latitude": 48.1351, "longitude": 11.582})],
    ),
    "pge": (
        """Name,ANN EXAMPLE
Address,"1 NOWHERE ST, SOMEWHERE CA 00000"

TYPE,DATE,START TIME,END TIME,USAGE (kWh),COST,NOTES
Electric usage,2023-12-31,16:00,16:59,1.90,$0.74,
""",
        {},
        [(_NIGHT, 1.9)],
    ),
}
"""For each mapping a small file in its source's form, the members besides the mapping, and the events."""


def test_each_mapping_has_a_file() -> None:
    """A new mapping comes with a file."""
    assert set(FILES) == set(shipped())


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_its_form_is_read(name: str, tmp_path: Path) -> None:
    """Rows of other kinds, titles and empty cells are left out."""
    text, members, expected = FILES[name]
    (tmp_path / "file").write_text(text, "utf-8")
    found = read_events(tmp_path / "file", mapping=name, **({"series": "s"} | members))
    assert [(row["timestamp"], row["value"]) for row in found] == expected


@pytest.mark.parametrize("name", sorted(FILES.keys() - {"geolife"}))  # its columns have no names
def test_inspect_knows_a_file_of_its_form(name: str) -> None:
    """Titles, annotations and nested lists do not hide it."""
    assert name in inspected(io.BufferedReader(io.BytesIO(FILES[name][0].encode()))).named


@pytest.mark.parametrize(
    ("name", "column"), [("apple-health", "type"), ("influxdb", "_field")], ids=["apple-health", "influxdb"]
)
def test_a_mixed_file_is_refused(name: str, column: str, tmp_path: Path) -> None:
    """Steps and heart rates, or temperatures and humidities, used to become one series silently."""
    (tmp_path / "file").write_text(FILES[name][0], "utf-8")
    more = "sourceName" if name == "apple-health" else "_measurement"
    for single in (None, more):
        with pytest.raises(Error, match=f"{column}: differs from earlier rows.*--where {column}=TEXT") as found:
            read_events(tmp_path / "file", mapping=name, series="s", single=single)
        assert "HeartRate" not in str(found.value)
        assert "humidity" not in str(found.value)


def test_conditions_on_other_columns_add_up(tmp_path: Path) -> None:
    """Choosing a unit or a device does not mean counting what is fed into the grid, or calibrations."""
    (tmp_path / "fluvius").write_text(FILES["fluvius"][0], "utf-8")
    (tmp_path / "nightscout").write_text(FILES["nightscout"][0], "utf-8")
    found = read_events(tmp_path / "fluvius", mapping="fluvius", series="s", where="Eenheid=kWh")
    assert [row["value"] for row in found] == [0.065]
    fed_in: dict[str, Any] = {"series": "s", "where": "Register=Injectie Nacht"}
    assert [row["value"] for row in read_events(tmp_path / "fluvius", mapping="fluvius", **fed_in)] == [0.1]
    besides: dict[str, Any] = {"series": "s", "where": "Register!=Afname Dag"}
    assert [row["value"] for row in read_events(tmp_path / "fluvius", mapping="fluvius", **besides)] == [0.065]
    other: dict[str, Any] = {"series": "s", "where": "type=mbg", "value_columns": "mbg"}
    assert [row["value"] for row in read_events(tmp_path / "nightscout", mapping="nightscout", **other)] == [90]


SORTED: Final = {
    "influxdb": "_time,_value\n2024-03-01T00:00:00Z,20.5\n",
    "apple-health": '<HealthData><Record startDate="2024-03-01 00:00:00 +0000" value="20.5"/></HealthData>',
}
"""Files of one sort, which lack the columns that distinguish sorts."""


@pytest.mark.parametrize("name", SORTED)
def test_a_file_of_one_sort_needs_no_column_of_sorts(name: str, tmp_path: Path) -> None:
    """Without an option it is refused, as it may hold several; the message names the option for one sort."""
    (tmp_path / "file").write_text(SORTED[name])
    value_column = "_value" if name == "influxdb" else "value"
    with pytest.raises(Error, match="if the file has only one sort, add --single ''"):
        read_events(tmp_path / "file", mapping=name, series="s")
    column = "_field" if name == "influxdb" else "type"
    with pytest.raises(Error, match=column) as refused:
        read_events(tmp_path / "file", mapping=name, series_column=column)
    assert "--single" not in str(refused.value), "it is the series, too"
    none: tuple[str | list[str], ...] = ("", [], ["", value_column])
    for single in none:
        found = read_events(tmp_path / "file", mapping=name, series="s", single=single)
        assert [row["value"] for row in found] == [20.5]


MIXED: Final = "time,kind,unit,kwh\n1000,a,kWh,1\n2000,b,m3,2\n3000,a,kWh,3\n"


def test_each_series_has_one_sort() -> None:
    """It is no fault if another series has another sort, and only rows that count are compared."""
    by_kind = {name: text for name, text in PLAIN.items() if name != "series"} | {"series_column": "kind"}
    assert events(MIXED, **by_kind, single="unit") == [(1000, 1), (2000, 2), (3000, 3)]
    assert events(MIXED, where="kind=a", single=["kind", "unit"]) == [(1000, 1), (3000, 3)]
