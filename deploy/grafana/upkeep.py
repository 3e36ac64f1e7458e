"""The rows of the operators' dashboard on what stands still, what is read back, and what a process takes."""

from deploy.grafana.dashboard import Row
from deploy.grafana.panel import Panel, Query, rising

OURS = "and on (job, instance) (landmark_partitions_running{*} or landmark_audit_entries{*})"
"""Of what every process exports, that of workers and audits."""

RECOVERY = Row(
    "Stops, recovery and recall",
    (
        Panel(
            "timeseries",
            "Partitions stopped by reason",
            "A stopped partition decides nothing rather than something twice. What mends each reason stands in "
            "the docs.",
            "none",
            (Query("sum by (reason) (landmark_partitions_stopped{*}) or vector(0)", "{{reason}}"),),
            rising(1),
            stacked=True,
        ),
        Panel(
            "timeseries",
            "Degraded",
            "1 while a worker has had no answer of the brokers for 20 seconds. Its partitions stay ready and decide "
            "nothing. Alert: LandmarkDegraded.",
            "none",
            (Query("max by (instance) (landmark_degraded{*})", "{{instance}}"),),
            rising(1),
        ),
        Panel(
            "timeseries",
            "Outside the consumer group",
            "1 while a worker is no member of its consumer group and gets no events, as for seconds in a rebalance. "
            "Alert: LandmarkOutsideGroup.",
            "none",
            (Query("1 - max by (instance) (landmark_in_group{*})", "{{instance}}"),),
            rising(1),
        ),
        Panel(
            "timeseries",
            "Seconds to take a partition over",
            "From its assignment until it decides: fencing, changelog, tail and recall. It changes when "
            "partitions move.",
            "s",
            (Query("max by (partition) (landmark_restore_seconds{*})", "{{partition}}"),),
            rising(60, 300),
        ),
        Panel(
            "timeseries",
            "Changelog still to read back",
            "Offsets, after a start or a move of partitions, and what standby copies are behind. A level line of an "
            "owner: LandmarkReadingBackStuck.",
            "short",
            (
                Query("sum by (instance) (landmark_recovery_remaining{*})", "{{instance}}"),
                Query("sum by (instance) (landmark_standby_remaining{*})", "{{instance}}, standby"),
            ),
            rising(1_000_000),
        ),
        Panel(
            "timeseries",
            "Changelog rows read back",
            "Since the worker's start.",
            "short",
            (Query("sum by (instance) (landmark_recovered_rows{*})", "{{instance}}"),),
        ),
        Panel(
            "timeseries",
            "Open steps of collected data",
            "Steps that take contributions. What they count is in the workers' memory alone, and shown nowhere. A line "
            "that only climbs: watermarks do not come.",
            "short",
            (Query("sum by (partition) (landmark_open_steps{*})", "{{partition}}"),),
        ),
        Panel(
            "timeseries",
            "Input kept and read again for open steps",
            "Kept: records from the oldest watermark whose step is open, which a restart reads again, so that the "
            "events topic must hold them. Read again: after assignments.",
            "short",
            (
                Query("sum(landmark_kept_records{*})", "kept"),
                Query("sum(increase(landmark_recalled_records_total{*}[$__rate_interval]))", "read again"),
            ),
        ),
        Panel(
            "timeseries",
            "Producers opened again",
            "A transactional id that expired on an idle partition, or a broker's trouble. Some a day are harmless.",
            "short",
            (Query("sum by (partition) (increase(landmark_reopened_total{*}[1h])) or vector(0)", "{{partition}}"),),
            rising(3),
        ),
        Panel(
            "timeseries",
            "Records missed by views",
            "Views that their person's budget, or their base, leaves no room for; one reject each says why.",
            "short",
            (Query("sum(increase(landmark_passed_views_total{*}[1h]))", "views"),),
        ),
        Panel(
            "timeseries",
            "Damaged local copies",
            "Discarded and read back from the changelog, so nothing is lost. More than one: look at the disk.",
            "short",
            (Query("sum by (cause) (increase(landmark_damaged_copies_total{*}[1h])) or vector(0)", "{{cause}}"),),
            rising(1),
        ),
        Panel(
            "timeseries",
            "Up since",
            "Seconds since the process began. A saw: it ends again and again. Alert: LandmarkWorkerRestarts.",
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
            "Resident memory of each process. Bounded by cached_series, rocksdb_budget_bytes and the batches; "
            "open steps of collected data come on top.",
            "bytes",
            (Query(f"process_resident_memory_bytes{{*}} {OURS}", "{{job}} {{instance}}"),),
            rising(2 * 1024**3, 4 * 1024**3),
        ),
        Panel(
            "timeseries",
            "Processor",
            "Cores in use. A worker uses one; at 1 it is at its limit, and another worker helps.",
            "short",
            (Query(f"rate(process_cpu_seconds_total{{*}}[$__rate_interval]) {OURS}", "{{job}} {{instance}}"),),
            rising(0.9),
        ),
        Panel(
            "timeseries",
            "Open files",
            "Of each process, against what the system allows it.",
            "percentunit",
            (Query(f"process_open_fds{{*}} / process_max_fds{{*}} {OURS}", "{{job}} {{instance}}"),),
            rising(0.5, 0.8),
        ),
        Panel(
            "timeseries",
            "Local state",
            "Files of RocksDB on the workers' disks. They may be deleted at any time: the changelog has all of it.",
            "bytes",
            (Query("sum by (instance) (landmark_state_bytes{*})", "{{instance}}"),),
        ),
        Panel(
            "timeseries",
            "Series in memory",
            "Series kept in memory, at most cached_series; others are read from RocksDB when they come.",
            "short",
            (Query("sum by (instance) (landmark_cached_series{*})", "{{instance}}"),),
        ),
        Panel(
            "table",
            "Versions",
            "What each worker runs. Several at once: an upgrade is under way, or was left half done.",
            "none",
            (Query("max by (instance, version) (landmark_build{*})"),),
        ),
        Panel(
            "table",
            "Noise keys",
            "The noise key that each worker decides with. Several at once: a foreign one, or a new one half given.",
            "none",
            (Query("max by (instance, fingerprint) (landmark_key_info{*})"),),
        ),
    ),
)
