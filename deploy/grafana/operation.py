"""The operators' dashboard: availability, throughput, time per stage, rejected records and stopped partitions."""

from deploy.grafana.dashboard import INSTANCE, JOB, Dashboard, Row
from deploy.grafana.panel import Panel, Query, falling, rising
from deploy.grafana.upkeep import RECOVERY, RESOURCES


def _quantiles(name: str, label: str = "") -> tuple[Query, ...]:
    return tuple(
        Query(
            f"histogram_quantile({share}, sum by (le) (rate({name}_bucket{{*}}[$__rate_interval])))",
            f"{label}{'half' if share == 0.5 else '99 of 100'} below",
        )
        for share in (0.5, 0.99)
    )


NOW = Row(
    "Now",
    (
        Panel(
            "stat",
            "Workers",
            "The number of workers that answer. If it is 0, nothing is processed; events wait in Kafka and are not "
            "lost.",
            "none",
            (Query("count(landmark_partitions_running{*}) or vector(0)"),),
            falling(1),
            3,
            4,
        ),
        Panel(
            "stat",
            "Partitions served",
            "The number of partitions that a worker owns and serves. Normally it equals the configured number.",
            "none",
            (Query("sum(landmark_partitions_running{*})"),),
            falling(1),
            3,
            4,
        ),
        Panel(
            "stat",
            "Partitions missing",
            "The number of configured partitions that no worker serves; empty while no worker answers. Alert: "
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
            "They wait for an operator; the worker's log names the difference and the remedy. Alert: "
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
            "Input records that were processed and committed.",
            "ops",
            (Query("sum(rate(landmark_events_total{*}[$__rate_interval]))"),),
            width=4,
            height=4,
        ),
        Panel(
            "stat",
            "Events waiting",
            "Input records that were fetched and are not processed yet.",
            "short",
            (Query("sum(landmark_event_lag_records{*})"),),
            rising(100_000, 1_000_000),
            4,
            4,
        ),
        Panel(
            "stat",
            "Append to commit, slowest",
            "The time from the append of the last event of a partition's last batch to its commit, in the slowest "
            "partition. Alert: LandmarkEventLag, above a minute.",
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
            "Input records that were processed and committed.",
            "ops",
            (Query("sum by (instance) (rate(landmark_events_total{*}[$__rate_interval]))", "{{instance}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Events by partition",
            "If one partition is far above the others, its series are the busy ones. If one is at 0 while others "
            "process events, it is stopped or no worker serves it.",
            "ops",
            (Query("sum by (partition) (rate(landmark_events_total{*}[$__rate_interval]))", "{{partition}}"),),
        ),
        Panel(
            "timeseries",
            "Share of events processed together",
            "The share of events processed as columns. The others are processed one by one, which takes several times "
            "as long. It is low if few series send at once, or if columns do not support the kind or level of their "
            "policies.",
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
            "Events that were fetched and are not processed yet. If a line only rises, the worker of that partition "
            "does not keep up.",
            "short",
            (Query("sum by (partition) (landmark_event_lag_records{*})", "{{partition}}"),),
        ),
        Panel(
            "timeseries",
            "Append to commit",
            "The time from the append of a batch's first event to its commit: the longest wait of a producer for a "
            "release.",
            "s",
            _quantiles("landmark_append_to_commit_seconds"),
            rising(10, 60),
        ),
        Panel(
            "timeseries",
            "Append to commit by partition",
            "The time from the append of a batch's last event to its commit.",
            "s",
            (Query("max by (partition) (landmark_event_lag_seconds{*})", "{{partition}}"),),
            rising(10, 60),
        ),
        Panel(
            "timeseries",
            "Rejects by reason",
            "Rejected records; the rejects topic names each of them. Without a line, no record was rejected. The "
            "documentation lists the reasons and their remedies.",
            "ops",
            (Query("sum by (reason) (rate(landmark_rejects_total{*}[$__rate_interval]))", "{{reason}}"),),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Share of events rejected",
            "Rejected records as a share of all events. Alert: LandmarkManyRejects, above one in twenty.",
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
            "The time from the start of a transaction until it is committed and in RocksDB. Alert: "
            "LandmarkBarrierSlow, above 5 s.",
            "s",
            _quantiles("landmark_barrier_seconds"),
            rising(1, 5),
        ),
        Panel(
            "timeseries",
            "Seconds to process a batch",
            "This includes the turns of other partitions, because they share one core.",
            "s",
            _quantiles("landmark_decision_seconds"),
            rising(1, 5),
        ),
        Panel(
            "timeseries",
            "Records of a batch",
            "Batches grow with the load; small batches at full load reduce the throughput.",
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
