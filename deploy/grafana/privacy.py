"""The privacy officer's dashboard: epsilon spent, remaining budget, how long it will last, audit findings."""

from deploy.grafana.dashboard import INSTANCE, JOB, POLICY, Dashboard, Row
from deploy.grafana.panel import Panel, Query, falling, rising
from deploy.grafana.spending import BUDGET, COUNTED, DECISIONS, LEFT, NEAR, SPENT, days

NOW = Row(
    "Now",
    (
        Panel(
            "stat",
            "Audit findings",
            "Faults of the ledger that `audit --follow` has found since it started. If it is above 0, the guarantee is "
            "not shown to hold. If it is empty, no audit runs. Alert: LandmarkAuditFinding.",
            "none",
            (Query("(sum(landmark_audit_findings_total{*}) or vector(0)) and on () count(landmark_audit_entries{*})"),),
            rising(1),
            4,
            4,
        ),
        Panel(
            "stat",
            "Series near exhaustion",
            "Series with at most 5 % of their budget remaining. " + COUNTED,
            "short",
            (Query(f"sum({NEAR}) or vector(0)"),),
            rising(1),
            3,
            4,
        ),
        Panel(
            "stat",
            "Share near exhaustion",
            "The share of the series that have at most 5 % of their budget remaining. Alert: LandmarkBudgetUsedUp, "
            "above half of the series of one policy and scheme.",
            "percentunit",
            (Query(f"(sum({NEAR}) or vector(0)) / (sum({LEFT}) > 0)"),),
            rising(0.1, 0.5),
            3,
            4,
            decimals=1,
        ),
        Panel(
            "stat",
            "Days until exhausted",
            "The days until the mean series has no budget left, if budgets are used as in the last day. It shows the "
            "policy that is exhausted first. If it is empty, no budget was used. Alert: LandmarkBudgetRunsOut, below a "
            "week.",
            "d",
            (Query(f"min({days(' by (policy, scheme)')})"),),
            falling(7, 30),
            3,
            4,
            decimals=1,
        ),
        Panel(
            "stat",
            "Alarming temporal loss",
            "The share of the series with a correlation whose backward loss is at least correlation_alarm. If it is "
            "empty, the configuration names no correlation. Alert: LandmarkTemporalLossHigh, above one in a hundred.",
            "percentunit",
            (Query("sum(landmark_alarmed_series{*}) / (sum(landmark_correlated_series{*}) > 0)"),),
            rising(0.001, 0.01),
            3,
            4,
            decimals=1,
        ),
        Panel(
            "stat",
            "Largest loss so far",
            "The largest share of its epsilon limit that any of the recently changed series has used. It counts all "
            "landmarks and the other step or window with the largest cost. A series may use the whole limit.",
            "percentunit",
            (
                Query(
                    "max(landmark_budget_most_used_nano_epsilon{*} "
                    "/ (landmark_budget_most_promised_nano_epsilon{*} > 0))"
                ),
            ),
            width=4,
            height=4,
            decimals=1,
        ),
        Panel(
            "stat",
            "Sum over all steps, per second",
            "The epsilon of all measurements, added up over all series and steps. No guarantee limits this "
            "sum. One series may have lost less, because only the costliest of its regular steps counts.",
            "short",
            (Query(f"sum(rate({SPENT}[$__rate_interval])) / 1e9"),),
            width=4,
            height=4,
        ),
    ),
)

LOSS = Row(
    "Temporal loss",
    (
        Panel(
            "heatmap",
            "Backward loss",
            "What the releases so far reveal about the newest value to anyone who knows the correlation. It covers "
            "the first 50 series of each batch whose policy names a correlation, whatever the policy. "
            "Higher is worse.",
            "none",
            (Query("sum by (le) (increase(landmark_backward_loss_bucket{*}[$__rate_interval]))", "{{le}}"),),
            width=12,
        ),
        Panel(
            "timeseries",
            "Share of series with an alarming loss",
            "The share with a backward loss of at least correlation_alarm, among the series whose policy names a "
            "correlation. Every series counts, including those that send nothing.",
            "percentunit",
            (Query("sum(landmark_alarmed_series{*}) / (sum(landmark_correlated_series{*}) > 0)", "alarming"),),
            rising(0.001, 0.01),
            width=6,
        ),
        Panel(
            "timeseries",
            "Series with a correlation",
            "Series whose policy names a correlation. It counts nothing without `correlations` in the configuration.",
            "short",
            (Query("sum(landmark_correlated_series{*})", "series"),),
            width=6,
        ),
    ),
)

AUDIT = Row(
    "Audit and keys",
    (
        Panel(
            "timeseries",
            "Findings by code",
            "Findings since the audit started to follow. Its log has the series, the sequence and a sentence for each.",
            "none",
            (
                Query(
                    "sum by (code) (landmark_audit_findings_total{*}) or 0 * sum(landmark_audit_entries{*})", "{{code}}"
                ),
            ),
            rising(1),
        ),
        Panel(
            "timeseries",
            "Not audited yet",
            "Committed records of ledger and releases that the audit has not read. Alert: LandmarkAuditBehind.",
            "short",
            (Query("sum by (instance) (landmark_audit_lag_records{*})", "{{instance}}"),),
            rising(10_000),
        ),
        Panel(
            "timeseries",
            "Entries without a signed checkpoint",
            "These entries could still be rewritten without detection. If a line only rises, no checkpoints are "
            "written, or the audit does not have the public key.",
            "short",
            (Query("sum by (instance) (landmark_audit_unsigned_entries{*})", "{{instance}}"),),
            rising(100_000),
        ),
        Panel(
            "timeseries",
            "Audited entries and series",
            "The entries and series that the audit has read; the numbers grow with the ledger.",
            "short",
            (
                Query("sum(landmark_audit_entries{*})", "entries"),
                Query("sum(landmark_audit_series{*})", "series"),
            ),
        ),
        Panel(
            "timeseries",
            "Signed checkpoints by partition",
            "Checkpoints (heads) of the ledger that were signed in an hour. If it is empty, there is no "
            "signing_key_file. Alert, at 0 while events come in: LandmarkHeadsMissing.",
            "short",
            (Query("sum by (partition) (increase(landmark_heads_total{*}[1h]))", "{{partition}}"),),
        ),
        Panel(
            "timeseries",
            "First key epoch",
            "Earlier epochs are erased from the key that a worker runs with. A worker with a lower epoch than the "
            "others still runs with a key file that contains the erased epochs.",
            "none",
            (Query("min by (instance) (landmark_first_key_epoch{*})", "{{instance}}"),),
        ),
    ),
)

PRIVACY = Dashboard(
    "privacy",
    "Landmark Stream: privacy budget",
    "Epsilon spent, remaining budget, how long it lasts, and whether the ledger keeps the guarantee. Figures are "
    "functions of releases, decisions and public facts; none of them names a series or holds a value.",
    (JOB, INSTANCE, POLICY),
    (NOW, BUDGET, DECISIONS, LOSS, AUDIT),
    "24h",
)
