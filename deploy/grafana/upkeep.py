"""The rows on stopped partitions, recovery and process resources of the operators' dashboard."""

from deploy.grafana.dashboard import Row
from deploy.grafana.panel import Panel, Query, rising

OURS = "and on (job, instance) (landmark_partitions_running{*} or landmark_audit_entries{*})"
"""A filter that keeps workers and audits, not other processes."""

RECOVERY = Row(
    "Stops, recovery and recall",
    (
        Panel(
            "timeseries",
            "Partitions stopped by reason",
            "A stopped partition processes nothing, so that it processes nothing twice. The documentation has the "
            "remedy for each reason.",
            "none",
            (Query("sum by (reason) (landmark_partitions_stopped{*}) or vector(0)", "{{reason}}"),),
            rising(1),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Degraded",
            "1 while a worker has had no answer from the brokers for 20 seconds. Its partitions stay ready and process "
            "nothing. Alert: LandmarkDegraded.",
            "none",
            (Query("max by (instance) (landmark_degraded{*})", "{{instance}}"),),
            rising(1),
        ),
        Panel(
            "timeseries",
            "Outside the consumer group",
            "1 while a worker is not a member of its consumer group and gets no events, for example for seconds in a "
            "rebalance. "
            "Alert: LandmarkOutsideGroup.",
            "none",
            (Query("1 - max by (instance) (landmark_in_group{*})", "{{instance}}"),),
            rising(1),
        ),
        Panel(
            "timeseries",
            "Seconds to take a partition over",
            "The time from the assignment of a partition until it processes events: fencing, changelog, tail and "
            "recall. It changes when partitions move.",
            "s",
            (Query("max by (partition) (landmark_restore_seconds{*})", "{{partition}}"),),
            rising(60, 300),
        ),
        Panel(
            "timeseries",
            "Changelog left to restore",
            "Offsets to restore after a start or a move of partitions, and offsets that standby copies still have to "
            "read. Alert, if the line of an owner stays level: LandmarkReadingBackStuck.",
            "short",
            (
                Query("sum by (instance) (landmark_recovery_remaining{*})", "{{instance}}"),
                Query("sum by (instance) (landmark_standby_remaining{*})", "{{instance}}, standby"),
            ),
            rising(1_000_000),
        ),
        Panel(
            "timeseries",
            "Changelog rows restored",
            "Rows restored since the worker started.",
            "short",
            (Query("sum by (instance) (landmark_recovered_rows{*})", "{{instance}}"),),
        ),
        Panel(
            "timeseries",
            "Open steps of collected data",
            "Steps that take contributions. Their counts are only in the workers' memory and are shown nowhere. If a "
            "line only rises, no watermarks arrive.",
            "short",
            (Query("sum by (partition) (landmark_open_steps{*})", "{{partition}}"),),
        ),
        Panel(
            "timeseries",
            "Input kept and read again for open steps",
            "Kept: records since the oldest watermark whose step is open. A restart reads them again, so the events "
            "topic must hold them. Read again: records read after assignments.",
            "short",
            (
                Query("sum(landmark_kept_records{*})", "kept"),
                Query("sum(increase(landmark_recalled_records_total{*}[$__rate_interval]))", "read again"),
            ),
        ),
        Panel(
            "timeseries",
            "Producers opened again",
            "The cause is a transactional id that expired on an idle partition, or a problem of a broker. A few per "
            "day are harmless.",
            "short",
            (Query("sum by (partition) (increase(landmark_reopened_total{*}[1h])) or vector(0)", "{{partition}}"),),
            rising(3),
        ),
        Panel(
            "timeseries",
            "Records missed by views",
            "Records that views missed because the budget of their person, or their base, has no room for the views. "
            "One reject for each view says why.",
            "short",
            (Query("sum(increase(landmark_passed_views_total{*}[1h]))", "views"),),
        ),
        Panel(
            "timeseries",
            "Damaged local copies",
            "They were discarded and restored from the changelog, so nothing is lost. If there is more than one, check "
            "the disk.",
            "short",
            (Query("sum by (cause) (increase(landmark_damaged_copies_total{*}[1h])) or vector(0)", "{{cause}}"),),
            rising(1),
        ),
        Panel(
            "timeseries",
            "Up since",
            "Seconds since the process started. If the line is a sawtooth, the process restarts repeatedly. Alert: "
            "LandmarkWorkerRestarts.",
            "s",
            (Query(f"time() - (process_start_time_seconds{{*}} {OURS})", "{{job}} {{instance}}"),),
        ),
    ),
)

RESOURCES = Row(
    "Resources",
    (
        Panel(
            "timeseries",
            "Memory",
            "The resident memory of each process. cached_series, rocksdb_budget_bytes and the batches bound it; open "
            "steps of collected data need more.",
            "bytes",
            (Query(f"process_resident_memory_bytes{{*}} {OURS}", "{{job}} {{instance}}"),),
            rising(2 * 1024**3, 4 * 1024**3),
        ),
        Panel(
            "timeseries",
            "Processor",
            "The number of cores in use. A worker uses one core; at 1 it has reached its limit, and another worker "
            "helps.",
            "short",
            (Query(f"rate(process_cpu_seconds_total{{*}}[$__rate_interval]) {OURS}", "{{job}} {{instance}}"),),
            rising(0.9),
        ),
        Panel(
            "timeseries",
            "Open files",
            "The open files of each process, as a share of what the system allows.",
            "percentunit",
            (Query(f"process_open_fds{{*}} / process_max_fds{{*}} {OURS}", "{{job}} {{instance}}"),),
            rising(0.5, 0.8),
        ),
        Panel(
            "timeseries",
            "Local state",
            "The RocksDB files on the workers' disks. They may be deleted at any time, because the changelog has "
            "everything.",
            "bytes",
            (Query("sum by (instance) (landmark_state_bytes{*})", "{{instance}}"),),
        ),
        Panel(
            "timeseries",
            "Series in memory",
            "Series kept in memory, at most cached_series; the others are read from RocksDB when they send something.",
            "short",
            (Query("sum by (instance) (landmark_cached_series{*})", "{{instance}}"),),
        ),
        Panel(
            "table",
            "Versions",
            "The version that each worker runs. If there are several, an upgrade is in progress or unfinished.",
            "none",
            (Query("max by (instance, version) (landmark_build{*})"),),
        ),
        Panel(
            "table",
            "Noise keys",
            "The noise key that each worker uses. If there are several, a worker has a foreign key, or not all have "
            "the new one.",
            "none",
            (Query("max by (instance, fingerprint) (landmark_key_info{*})"),),
        ),
    ),
)
