"""The rows on budgets and decisions, by policy and scheme, of the privacy officer's dashboard."""

from deploy.grafana.dashboard import Row
from deploy.grafana.panel import Panel, Query, falling, rising

LEFT = 'landmark_budget_left_series{*, policy=~"$policy"}'
NEAR = 'landmark_budget_left_series{*, policy=~"$policy", share=~"0.00|0.01|0.05"}'
DECIDED = 'landmark_decisions_total{*, policy=~"$policy"}'
SPENT = 'landmark_spend_nano_epsilon_total{*, policy=~"$policy"}'
USED = 'landmark_budget_used_nano_epsilon_total{*, policy=~"$policy"}'
LEFT_NANO = 'landmark_budget_left_nano_epsilon{*, policy=~"$policy"}'

COUNTED = (
    "It covers the series that sent something since the producer of their partition was opened, up to the last "
    "cached_series of them, at levels landmark and user. At levels event and w-event the budget returns with each step "
    "or window."
)
PERTURBED = 'landmark_decisions_total{*, policy=~"$policy", decision="perturbed"}'
RELEASED = 'landmark_decisions_total{*, policy=~"$policy", decision!="control"}'


def days(by: str) -> str:
    """Return the query for the days until the mean series has no budget left, at the rate of the last day."""
    return f"sum{by} ({LEFT_NANO}) / (sum{by} (increase({USED}[1d])) > 0)"


BUDGET = Row(
    "Budget",
    (
        Panel(
            "timeseries",
            "Sum over all steps, per second, by policy",
            "The cost of all measurements (releases, private dissimilarities and draws of dummies), added up over "
            "series and steps. own: policies that series sent for themselves; default-1 and so on: the configured "
            "default policies in their order; earlier: policies that were removed from the configuration.",
            "short",
            (Query(f"sum by (policy) (rate({SPENT}[$__rate_interval])) / 1e9", "{{policy}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Sum over all steps, per second, by scheme",
            "The cost of all measurements, added up over series and steps.",
            "short",
            (Query(f"sum by (scheme) (rate({SPENT}[$__rate_interval])) / 1e9", "{{scheme}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Epsilon per perturbed release",
            "The mean by scheme. Less epsilon means more noise. It includes private dissimilarities and draws of "
            "dummies.",
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
            "Share of budget remaining",
            "Series by their share of budget remaining; the label of a row is the upper end of its range. Series in "
            "the bottom rows cannot publish another landmark, and later policy versions get only what the lifetime "
            "leaves. " + COUNTED,
            "percentunit",
            (Query(f"sum by (share) ({LEFT})", "{{share}}"),),
            width=12,
        ),
        Panel(
            "timeseries",
            "Series near exhaustion by policy",
            "Series with at most 5 % of their budget remaining. " + COUNTED,
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
            "The days until the mean series has no budget left, if budgets are used as in the last day. Shares "
            "differ, so the first series run out sooner. The first day of a policy includes what every series uses "
            "at its first step.",
            "d",
            (Query(days(" by (policy, scheme)"), "{{policy}} {{scheme}}"),),
            falling(7, 30),
            width=6,
        ),
        Panel(
            "timeseries",
            "Budget used per day by policy",
            "How fast the used budget grows, in epsilon per day, for all series together. It counts all landmarks "
            "and the other step with the largest cost. A lifetime adds up these amounts.",
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
            "Remaining budget by policy",
            "In epsilon, for all series together. " + COUNTED,
            "short",
            (Query(f"sum by (policy, scheme) ({LEFT_NANO}) / 1e9", "{{policy}} {{scheme}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Renewals",
            "begun: an event came at or after a bound of its policy, and the next version applies. refused: the "
            "lifetime or max_epsilon has no room for the next version, and the present one stays until the next "
            "bound.",
            "ops",
            (Query("sum by (outcome) (rate(landmark_renewals_total{*}[$__rate_interval]))", "{{outcome}}"),),
        ),
        Panel(
            "heatmap",
            "Share of the limit remaining, by person",
            "People by the share of their limit that is not reserved; the label of a row is the upper end of its "
            "range. The next series of people in the bottom rows is rejected (member-cap). Everyone with a limit "
            "counts. If it is empty, the configuration names no people.",
            "percentunit",
            (Query("sum by (share) (landmark_cap_left_members{*})", "{{share}}"),),
            width=12,
        ),
        Panel(
            "timeseries",
            "People with nine tenths of their limit reserved",
            "By partition; reserved amounts are never returned. If a line rises without new people, somebody invents "
            "series. Alert: LandmarkMemberCapClaimed.",
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
            "The configured default policies: place, level, scheme and epsilon. Only the configuration shows their "
            "globs, because a glob can name a single series.",
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
            "perturbed spends budget; approximated and withheld do not; control covers policies, landmarks and "
            "closings.",
            "ops",
            (Query(f"sum by (decision) (rate({DECIDED}[$__rate_interval]))", "{{decision}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Decisions by scheme",
            "Decisions of all kinds.",
            "ops",
            (Query(f"sum by (scheme) (rate({DECIDED}[$__rate_interval]))", "{{scheme}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Share perturbed",
            "The share of releases with fresh noise. It falls when budgets are used up, and when the adaptive scheme "
            "sees little change between releases.",
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
            "Series by their rate of publishing (scheme adaptive, and bd and ba with dissimilarity released). The "
            "rate is low if releases change little. It covers the series that sent something since the producer of "
            "their partition was opened.",
            "percentunit",
            (Query('sum by (rate) (landmark_sampling_rate_series{*, policy=~"$policy"})', "{{rate}}"),),
            width=12,
        ),
        Panel(
            "timeseries",
            "Rejected because of policies",
            "Policies and landmarks that were rejected, and events without a policy, per second. The rejects topic "
            "names each of them.",
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
