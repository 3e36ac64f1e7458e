"""The privacy officer's dashboard: what was spent, what is left, how long it lasts, whether it is as promised."""

from deploy.grafana.dashboard import INSTANCE, JOB, POLICY, Dashboard, Row
from deploy.grafana.panel import Panel, Query, falling, rising
from deploy.grafana.spending import BUDGET, COUNTED, DECISIONS, LEFT, NEAR, SPENT, days

NOW = Row(
    "Now",
    (
        Panel(
            "stat",
            "Audit findings",
            "Faults of the ledger that `audit --follow` found since it began. Anything above 0: the promise is "
            "not shown to be kept. Nothing: no audit runs. Alert: LandmarkAuditFinding.",
            "none",
            (Query("(sum(landmark_audit_findings_total{*}) or vector(0)) and on () count(landmark_audit_entries{*})"),),
            rising(1),
            4,
            4,
        ),
        Panel(
            "stat",
            "Series near exhaustion",
            "Series with at most 5 % of their budget left. " + COUNTED,
            "short",
            (Query(f"sum({NEAR}) or vector(0)"),),
            rising(1),
            3,
            4,
        ),
        Panel(
            "stat",
            "Of all series",
            "Share of the series with at most 5 % of their budget left. Alert: LandmarkBudgetUsedUp, above a half of "
            "those of one policy and scheme.",
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
            "Until the mean series has nothing left, if budgets go on being used as in the last day; the policy "
            "that is first. Nothing: nothing was used. Alert: LandmarkBudgetRunsOut, below a week.",
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
            "Share of the series with a correlation whose backward loss is at least correlation_alarm. Nothing: the "
            "configuration names no correlation. Alert: LandmarkTemporalLossHigh, above one in a hundred.",
            "percentunit",
            (Query("sum(landmark_alarmed_series{*}) / (sum(landmark_correlated_series{*}) > 0)"),),
            rising(0.001, 0.01),
            3,
            4,
            decimals=1,
        ),
        Panel(
            "stat",
            "Most used of a promise",
            "The largest share that one of the series that changed last used of its promise: all landmarks and the "
            "dearest other step or window, of its policy's epsilon. All of it may be used.",
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
            "Epsilon of everything that was measured, added up over all series and steps. No guarantee limits this "
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
            "Of those of the first 50 series of each batch whose policy names a correlation, whatever the "
            "policy: what the releases until now tell about the newest value, to who knows the correlation. "
            "Higher up is worse.",
            "none",
            (Query("sum by (le) (increase(landmark_backward_loss_bucket{*}[$__rate_interval]))", "{{le}}"),),
            width=12,
        ),
        Panel(
            "timeseries",
            "Share of series with an alarming loss",
            "Of the series whose policy names a correlation: those with a backward loss of at least correlation_alarm. "
            "Every series counts, also those that are quiet.",
            "percentunit",
            (Query("sum(landmark_alarmed_series{*}) / (sum(landmark_correlated_series{*}) > 0)", "alarming"),),
            rising(0.001, 0.01),
            width=6,
        ),
        Panel(
            "timeseries",
            "Series with a correlation",
            "Series whose policy names one. Nothing is counted without `correlations` in the configuration.",
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
            "Since the audit began to follow. Its log has series, sequence and sentence.",
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
            "Entries that no signed head covers",
            "They could still be rewritten unseen. A line that only climbs: no heads are written, or the audit "
            "has not the public key.",
            "short",
            (Query("sum by (instance) (landmark_audit_unsigned_entries{*})", "{{instance}}"),),
            rising(100_000),
        ),
        Panel(
            "timeseries",
            "Audited entries and series",
            "What the audit has read; it grows with the ledger.",
            "short",
            (
                Query("sum(landmark_audit_entries{*})", "entries"),
                Query("sum(landmark_audit_series{*})", "series"),
            ),
        ),
        Panel(
            "timeseries",
            "Signed heads by partition",
            "Heads of the ledger that were signed in an hour. Nothing: no signing_key_file. At 0 while events come in: "
            "LandmarkHeadsMissing.",
            "short",
            (Query("sum by (partition) (increase(landmark_heads_total{*}[1h]))", "{{partition}}"),),
        ),
        Panel(
            "timeseries",
            "First key epoch",
            "Epochs before it are erased from the key that a worker runs with: one that lies below the others "
            "still runs with a key file in which they are not.",
            "none",
            (Query("min by (instance) (landmark_first_key_epoch{*})", "{{instance}}"),),
        ),
    ),
)

PRIVACY = Dashboard(
    "privacy",
    "Landmark Stream: privacy budget",
    "What was spent, what is left, how long it lasts, and whether the ledger is as promised. Figures are functions of "
    "releases, decisions and public facts; none names a series or holds a value.",
    (JOB, INSTANCE, POLICY),
    (NOW, BUDGET, DECISIONS, LOSS, AUDIT),
    "24h",
)
