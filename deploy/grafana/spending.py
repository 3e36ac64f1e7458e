"""The rows of the privacy officer's dashboard on budgets and decisions, by policy and scheme."""

from deploy.grafana.dashboard import Row
from deploy.grafana.panel import Panel, Query, falling, rising

LEFT = 'landmark_budget_left_series{*, policy=~"$policy"}'
NEAR = 'landmark_budget_left_series{*, policy=~"$policy", share=~"0.00|0.01|0.05"}'
DECIDED = 'landmark_decisions_total{*, policy=~"$policy"}'
SPENT = 'landmark_spend_nano_epsilon_total{*, policy=~"$policy"}'
USED = 'landmark_budget_used_nano_epsilon_total{*, policy=~"$policy"}'
LEFT_NANO = 'landmark_budget_left_nano_epsilon{*, policy=~"$policy"}'

COUNTED = (
    "Of the series that sent something since their partition's producer was opened, the last cached_series of them; "
    "levels landmark and user. At the levels event and w-event the budget comes back with each step or window."
)
PERTURBED = 'landmark_decisions_total{*, policy=~"$policy", decision="perturbed"}'
RELEASED = 'landmark_decisions_total{*, policy=~"$policy", decision!="control"}'


def days(by: str) -> str:
    """Return the query of the days until the mean series has nothing left, at the rate of the last day."""
    return f"sum{by} ({LEFT_NANO}) / (sum{by} (increase({USED}[1d])) > 0)"


BUDGET = Row(
    "Budget",
    (
        Panel(
            "timeseries",
            "Sum over all steps, per second, by policy",
            "All that was measured: releases, private dissimilarities, draws of dummies; added up over series and "
            "steps. own: policies that series sent for themselves; default-1 and so on: the configured default "
            "policies by their place; earlier: those that left the configuration.",
            "short",
            (Query(f"sum by (policy) (rate({SPENT}[$__rate_interval])) / 1e9", "{{policy}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Sum over all steps, per second, by scheme",
            "Added up over series and steps.",
            "short",
            (Query(f"sum by (scheme) (rate({SPENT}[$__rate_interval])) / 1e9", "{{scheme}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Epsilon per perturbed release",
            "Mean, by scheme. The less, the more noise. Private dissimilarities and draws of dummies are in it.",
            "short",
            (
                Query(
                    f"sum by (scheme) (rate({SPENT}[$__rate_interval])) / 1e9"
                    f" / (sum by (scheme) (rate({PERTURBED}[$__rate_interval])) > 0)",
                    "{{scheme}}",
                ),
            ),
        ),
        Panel(
            "heatmap",
            "Share of budget left",
            "How many series have at most which share left. Rows at the bottom: no further landmark of theirs can be "
            "published, and later policy versions get only what the lifetime leaves. " + COUNTED,
            "percentunit",
            (Query(f"sum by (share) ({LEFT})", "{{share}}"),),
            width=12,
        ),
        Panel(
            "timeseries",
            "Series near exhaustion by policy",
            "Series with at most 5 % of their budget left. " + COUNTED,
            "short",
            (
                Query(
                    f"sum by (policy, scheme) ({NEAR}) or 0 * sum by (policy, scheme) ({LEFT})",
                    "{{policy}} {{scheme}}",
                ),
            ),
            rising(1),
            width=6,
        ),
        Panel(
            "timeseries",
            "Days until exhausted by policy",
            "Until the mean series has nothing left, if budgets go on being used as in the last day. Shares are "
            "not even: the first series are there sooner. A policy's first day counts what every series uses at "
            "its first step.",
            "d",
            (Query(days(" by (policy, scheme)"), "{{policy}} {{scheme}}"),),
            falling(7, 30),
            width=6,
        ),
        Panel(
            "timeseries",
            "Budget used per day by policy",
            "Growth of the budget in use, all landmarks and the dearest other step, in epsilon a day, all series "
            "together. It is what a lifetime adds up.",
            "short",
            (
                Query(
                    f"sum by (policy, scheme) (rate({USED}[$__rate_interval])) * 86400 / 1e9", "{{policy}} {{scheme}}"
                ),
            ),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Budget left by policy",
            "In epsilon, all series together. " + COUNTED,
            "short",
            (Query(f"sum by (policy, scheme) ({LEFT_NANO}) / 1e9", "{{policy}} {{scheme}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Renewals",
            "begun: an event came at or after a bound of its policy, and the next version rules. refused: the "
            "lifetime, or max_epsilon, has no room for it, and the version stays until the next bound.",
            "ops",
            (Query("sum by (outcome) (rate(landmark_renewals_total{*}[$__rate_interval]))", "{{outcome}}"),),
        ),
        Panel(
            "heatmap",
            "Share of the cap left, of members",
            "How many members have at most which share of their cap unclaimed. Rows at the bottom: their next series "
            "is refused (member-cap). Every member with a cap counts. Nothing: the configuration names no members.",
            "percentunit",
            (Query("sum by (share) (landmark_cap_left_members{*})", "{{share}}"),),
            width=12,
        ),
        Panel(
            "timeseries",
            "Members with nine tenths of their cap claimed",
            "By partition; claims are never returned. One that climbs without new people: somebody makes up series. "
            "Alert: LandmarkMemberCapClaimed.",
            "short",
            (
                Query(
                    'sum by (partition) (landmark_cap_left_members{*, share=~"0.00|0.01|0.05|0.10"})'
                    " or 0 * sum by (partition) (landmark_cap_left_members{*})",
                    "{{partition}}",
                ),
            ),
            rising(1),
            width=12,
        ),
        Panel(
            "table",
            "Default policies",
            "The configured default policies: place, level, scheme and epsilon. Their globs stand in the configuration "
            "alone, since a glob can name one series.",
            "none",
            (Query("max by (policy, level, scheme) (landmark_default_policy_epsilon{*})"),),
        ),
    ),
)

DECISIONS = Row(
    "Decisions",
    (
        Panel(
            "timeseries",
            "Decisions by kind",
            "perturbed spends budget; approximated and withheld do not; control is policies, landmarks and closings.",
            "ops",
            (Query(f"sum by (decision) (rate({DECIDED}[$__rate_interval]))", "{{decision}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Decisions by scheme",
            "Of all kinds.",
            "ops",
            (Query(f"sum by (scheme) (rate({DECIDED}[$__rate_interval]))", "{{scheme}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Share perturbed",
            "Of the releases: those with fresh noise. It falls where budgets are used up, and where Adaptive "
            "sees little change in what it released.",
            "percentunit",
            (
                Query(
                    f"sum by (scheme) (rate({PERTURBED}[$__rate_interval])) / (sum by (scheme) "
                    f"(rate({RELEASED}[$__rate_interval])) > 0)",
                    "{{scheme}}",
                ),
            ),
        ),
        Panel(
            "heatmap",
            "Sampling rate",
            "Series by their rate of publishing (adaptive, and bd and ba by what they released): low where "
            "releases change little. Of the series that sent something since their partition's producer was opened.",
            "percentunit",
            (Query('sum by (rate) (landmark_sampling_rate_series{*, policy=~"$policy"})', "{{rate}}"),),
            width=12,
        ),
        Panel(
            "timeseries",
            "Refused for a policy's sake",
            "Policies and landmarks that were refused, and events without a policy, a second. The rejects topic names "
            "each.",
            "ops",
            (
                Query(
                    "sum by (reason) (rate(landmark_rejects_total{*, "
                    'reason=~"invalid-policy|no-policy|wrong-type|refused-landmark|budget-cap|key-erased|closed"}[$__rate_interval]))',
                    "{{reason}}",
                ),
            ),
            width=12,
        ),
    ),
)
