"""``left`` with budget that returns: at the bounds of renewals, and in the windows of an endless stream."""

from tests.cli.ledger.test_left import DRAWN, FIXED, HOUR, LATE, Record, Site, readings, ruled


def test_an_endless_stream_goes_on_by_hand(site: Site) -> None:
    """After its last landmark, windows have all that is left, and no landmark version can grant that again."""
    joint: Record = {"level": "landmark", "step": HOUR, "landmarks": [HOUR], "window": 2}
    site.installed("old", [ruled("home", protection=joint), *readings("home", 0, 1, 2, 3, 4, 5)])
    begun, said = site.left("old", code=1)
    assert begun == []
    assert (
        "the landmarks left epsilon 0.5 for each window: the series may continue with this budget at level w-event; "
        "you must decide"
    ) in said
    skip: Record = {"name": "skip", "accept_risk": True}
    coming = ruled("home", protection={**joint, "landmarks": [LATE]}, scheme=skip)
    site.installed("coming", [coming, *readings("home", 0, 1, 2)])
    assert site.left("coming")[1] == "home: no budget remains\n"


def test_bounds_to_come_go_on_and_those_that_were_asked_do_not(site: Site) -> None:
    """A renewal grants the policy's new, remaining budget. A series with nothing left waits for its operator."""
    plain = {"level": "landmark", "step": HOUR}
    for name, scheme in (("spare", {"name": "balanced"}), ("none", {"name": "uniform"})):
        marked: Record = {"protection": plain | {"landmarks": [LATE]}} if name == "spare" else {"protection": plain}
        record = ruled(name, renew=[HOUR, 3 * HOUR, 12 * HOUR], scheme=scheme, **marked)
        site.installed(name, [record, *readings(name, 0, 1, 3)])
    begun, said = site.left("spare")
    assert begun[-1]["renew"] == [12 * HOUR]
    assert "epsilon 0.5 remains" in said
    assert "again at each bound of `renew`" in said
    new, rejects = site.installed("new", [*begun, *readings("spare", 5, 10, 12, 13)])
    assert rejects == []
    assert [entry["policy"] for entry in new if entry["entry"] == "policy"] == [1, 2, 3]  # no lifetime has room for 4
    assert site.left("none")[1] == "none: no budget remains\n"
    begun, said = site.left("none", "5.0", code=1)
    assert begun == []
    assert f"exhausted until {12 * HOUR}, when it is renewed; you must decide" in said


def test_drawn_landmarks_are_named_after_a_renewal_too(site: Site) -> None:
    """A renewal draws no landmarks; an operator's own version with other landmarks hides nothing."""
    settings = site.folder / "lifetime.toml"
    settings.write_text("lifetime_epsilon = 5.0\naccept_weaker_policies = true\n")
    record = ruled("home", **FIXED, dummies=DRAWN, renew=[3 * HOUR], lifetime=5.0, scheme={"name": "balanced"})
    coming = {"level": "landmark", "step": HOUR, "landmarks": [LATE]}
    own = ruled("home", 3, protection=coming, weaker=True, scheme={"name": "balanced"})
    for name, more, drawn in (("once", [], True), ("own", [own, *readings("home", 7)], False)):
        ledger, _ = site.installed(name, [record, *readings("home", 0, 1, 4), *more], "--config", str(settings))
        assert [entry["policy"] for entry in ledger if entry["entry"] == "policy"] == [1, 2, *([] if drawn else [3])]
        assert ("with the drawn landmarks" in site.left(name, "5.0")[1]) is drawn
