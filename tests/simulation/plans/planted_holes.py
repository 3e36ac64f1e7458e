"""The rules about outputs missing before later ones whose absence the simulation must notice, one by one."""

from typing import Final

from tests.simulation.planting import Planted

_SURVEY: Final = "stream_app.kafka.rebuild.survey:Survey"

OF_HOLES: Final = (
    Planted(
        "recover silent about a lost release",
        "recover refuses a release that is missing before a later one, unless the loss is accepted",
        f"{_SURVEY}.look",
        24,
        (("raise missing_before(fresh, answered).stopped(partition)", "pass"),),
    ),
    Planted(
        "recover silent about a lost reject",
        "recover refuses a reject that is missing before a later one, unless the loss is accepted",
        f"{_SURVEY}._unanswered",
        391,
        (("raise found.refused(answered.reject).stopped(partition)", "pass"),),
    ),
    Planted(
        "accepted losses forgotten",
        "the row that recover writes says which releases may be missing",
        "stream_app.kafka.rebuild.recover:Rebuilding._done",
        24,
        (("releases_lost=max(surveyed.releases_lost, given_up.last)", "releases_lost=-1"),),
    ),
    Planted(
        "what is given up written all the same",
        "a release that is given up is never published",
        "stream_app.kafka.evidence.outputs:CommittedOutputs.holds",
        92,
        (("if offset < self._gone:\n        return True", "if offset < self._gone:\n        return False"),),
    ),
)
