"""The operators' dashboard: does it run, does it keep up, where does time go, what was refused, what stands still."""

from deploy.grafana.dashboard import INSTANCE, JOB, Dashboard, Row
from deploy.grafana.panel import Panel, Query, falling, rising
from deploy.grafana.upkeep import RECOVERY, RESOURCES


def _quantiles(name: str, label: str = "") -> tuple[Query, ...]:
    return tuple(
        Query(
            f"histogram_quantile({share}, sum by (le) (rate({name}_bucket{{*}}[$__rate_interval])))",
            f"{label}{'half of them' if share == 0.5 else '99 of 100'} below",
        )
        for share in (0.5, 0.99)
    )


NOW = Row(
    "Now",
    (
        Panel(
            "stat",
            "Workers",
            "Workers that answer. None at all: nothing is decided; events wait in Kafka and are not lost.",
            "none",
            (Query("count(landmark_partitions_running{*}) or vector(0)"),),
            falling(1),
            3,
            4,
        ),
        Panel(
            "stat",
            "Partitions served",
            "Partitions that some worker owns and serves: as many as are configured, while all is well.",
            "none",
            (Query("sum(landmark_partitions_running{*})"),),
            falling(1),
            3,
            4,
        ),
        Panel(
            "stat",
            "Partitions missing",
            "Of the configured partitions those that no worker serves; nothing while no worker answers. Alert: "
            "LandmarkPartitionsMissing, after five minutes.",
            "none",
            (
                Query(
                    "sum(max by (job) (landmark_partitions_configured{*})"
                    " - sum by (job) (landmark_partitions_running{*}))"
                ),
            ),
            rising(1),
            3,
            4,
        ),
        Panel(
            "stat",
            "Partitions stopped",
            "They wait for an operator; the worker's log says what differs and what mends it. Alert: "
            "LandmarkPartitionStopped.",
            "none",
            (Query("sum(landmark_partitions_stopped{*}) or vector(0)"),),
            rising(1),
            3,
            4,
        ),
        Panel(
            "stat",
            "Events per second",
            "Input records decided and committed.",
            "ops",
            (Query("sum(rate(landmark_events_total{*}[$__rate_interval]))"),),
            width=4,
            height=4,
        ),
        Panel(
            "stat",
            "Events waiting",
            "Input records that were fetched and are not decided yet.",
            "short",
            (Query("sum(landmark_event_lag_records{*})"),),
            rising(100_000, 1_000_000),
            4,
            4,
        ),
        Panel(
            "stat",
            "Behind",
            "From the append of the last event of a partition's last batch until its commit, in the slowest partition. "
            "Alert: LandmarkEventLag, above a minute.",
            "s",
            (Query("max(landmark_event_lag_seconds{*})"),),
            rising(10, 60),
            4,
            4,
        ),
    ),
)

FLOW = Row(
    "Flow",
    (
        Panel(
            "timeseries",
            "Events by worker",
            "Input records decided and committed.",
            "ops",
            (Query("sum by (instance) (rate(landmark_events_total{*}[$__rate_interval]))", "{{instance}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Events by partition",
            "One partition far above the others: its series are the busy ones. One at 0 while others move: it stopped, "
            "or nobody serves it.",
            "ops",
            (Query("sum by (partition) (rate(landmark_events_total{*}[$__rate_interval]))", "{{partition}}"),),
        ),
        Panel(
            "timeseries",
            "Share of events decided together",
            "As columns; the others are decided one by one, which takes several times as long. Low: few series send at "
            "once, or their policies are of a kind or level that columns do not take.",
            "percentunit",
            (
                Query(
                    "sum(rate(landmark_events_together_total{*}[$__rate_interval]))"
                    " / (sum(rate(landmark_events_total{*}[$__rate_interval])) > 0)",
                    "together",
                ),
            ),
        ),
        Panel(
            "timeseries",
            "Events waiting by partition",
            "Fetched and not decided yet. A line that only climbs: the worker of that partition does not keep up.",
            "short",
            (Query("sum by (partition) (landmark_event_lag_records{*})", "{{partition}}"),),
        ),
        Panel(
            "timeseries",
            "Append to commit",
            "From the append of a batch's first event until its commit: what a producer waits at most for its release.",
            "s",
            _quantiles("landmark_append_to_commit_seconds"),
            rising(10, 60),
        ),
        Panel(
            "timeseries",
            "Behind by partition",
            "From the append of a batch's last event until its commit.",
            "s",
            (Query("max by (partition) (landmark_event_lag_seconds{*})", "{{partition}}"),),
            rising(10, 60),
        ),
        Panel(
            "timeseries",
            "Rejects by reason",
            "Refused records; the rejects topic names each. No line: none was refused. The reasons stand in the docs, "
            "with what to do.",
            "ops",
            (Query("sum by (reason) (rate(landmark_rejects_total{*}[$__rate_interval]))", "{{reason}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Share of events rejected",
            "Alert: LandmarkManyRejects, above one in twenty.",
            "percentunit",
            (
                Query(
                    "(sum(rate(landmark_rejects_total{*}[$__rate_interval])) or vector(0))"
                    " / (sum(rate(landmark_events_total{*}[$__rate_interval])) > 0)",
                    "rejected",
                ),
            ),
            rising(0.01, 0.05),
        ),
    ),
)

TRANSACTIONS = Row(
    "Transactions",
    (
        Panel(
            "timeseries",
            "Barrier: seconds of a commit",
            "From a transaction's begin until it is committed and in RocksDB. Alert: LandmarkBarrierSlow, above 5 s.",
            "s",
            _quantiles("landmark_barrier_seconds"),
            rising(1, 5),
        ),
        Panel(
            "timeseries",
            "Seconds to decide a batch",
            "Other partitions' turns included: they share one core.",
            "s",
            _quantiles("landmark_decision_seconds"),
            rising(1, 5),
        ),
        Panel(
            "timeseries",
            "Records of a batch",
            "They grow with the load; small ones at full load cost throughput.",
            "short",
            _quantiles("landmark_batch_records"),
        ),
    ),
)

OPERATION = Dashboard(
    "operation",
    "Landmark Stream: operation",
    "Throughput, lag, commits, rejects, recovery and resources. No figure names a series or holds a value.",
    (JOB, INSTANCE),
    (NOW, FLOW, TRANSACTIONS, RECOVERY, RESOURCES),
    "1h",
)
