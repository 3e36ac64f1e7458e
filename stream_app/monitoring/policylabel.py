"""The label of a policy in the metrics: few values, whatever the series and their policies."""

from collections.abc import Sequence

from stream_app.deciding.context import DefaultPolicy

OWN = "own"
"""Of all policies that series sent for themselves."""
EARLIER = "earlier"
"""Of default policies that rule series still and have left the configuration."""
MORE = "more"
"""Of the default policies behind the first `NAMED`."""
NAMED = 20

PolicyLabels = dict[str, str]
"""Labels by the digests of default policies."""


def labels_of(defaults: Sequence[DefaultPolicy]) -> PolicyLabels:
    """Return the labels of the configured default policies: their places, from ``default-1``.

    Of equal policies under several globs the first place counts: the state knows them by their digest.
    """
    # PRIVACY: the place and not the glob, which can be the id of one series.
    labels: PolicyLabels = {}
    for place, default in enumerate(defaults, 1):
        labels.setdefault(default.digest, f"default-{place}" if place <= NAMED else MORE)
    return labels


def label_of(labels: PolicyLabels, digest: str) -> str:
    """Return the label of a row's policy by the digest of its default policy, empty for one of its own."""
    return labels.get(digest, EARLIER) if digest else OWN
