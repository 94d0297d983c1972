-- The audit log: one wide row per event. Placeholders in double braces are filled in by src/store/ch/migration-template.ts.
-- Every statement may run twice, as a migration that was interrupted is applied again from its start.
CREATE TABLE IF NOT EXISTS {{database}}.audit_events{{local}} {{on_cluster}}
(
  id UUID CODEC(ZSTD(1)),
  org_id LowCardinality(String) CODEC(ZSTD(1)),
  user_id LowCardinality(String) CODEC(ZSTD(1)),
  timestamp DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
  source_seq Int64 CODEC(Delta(8), ZSTD(1)),
  event_type LowCardinality(String) CODEC(ZSTD(1)),
  category LowCardinality(String) CODEC(ZSTD(1)),
  actor LowCardinality(String) CODEC(ZSTD(1)),
  workspace_id LowCardinality(String) CODEC(ZSTD(1)),
  task_id String CODEC(ZSTD(1)),
  agent_role LowCardinality(String) CODEC(ZSTD(1)),
  agent_provider LowCardinality(String) CODEC(ZSTD(1)),
  destination LowCardinality(String) CODEC(ZSTD(1)),
  method LowCardinality(String) CODEC(ZSTD(1)),
  path String CODEC(ZSTD(1)),
  decision LowCardinality(String) CODEC(ZSTD(1)),
  reason LowCardinality(String) CODEC(ZSTD(1)),
  latency_ms UInt32 CODEC(T64, ZSTD(1)),
  transforms_applied UInt16 CODEC(ZSTD(1)),
  validations_applied UInt16 CODEC(ZSTD(1)),
  policy_type LowCardinality(String) CODEC(ZSTD(1)),
  phase LowCardinality(String) CODEC(ZSTD(1)),
  capability_name LowCardinality(String) CODEC(ZSTD(1)),
  -- JSON text, not the JSON type: dynamic paths have made merges of other audit tables run out of memory.
  detail String CODEC(ZSTD(1)),
  debits Map(LowCardinality(String), Int64) CODEC(ZSTD(1)),
  budget_state Map(LowCardinality(String), String) CODEC(ZSTD(1)),
  floored Map(LowCardinality(String), LowCardinality(String)) CODEC(ZSTD(1)),
  transforms_failed Map(LowCardinality(String), LowCardinality(String)) CODEC(ZSTD(1)),
  auth_used Array(LowCardinality(String)) CODEC(ZSTD(1)),
  auth_failures Map(LowCardinality(String), LowCardinality(String)) CODEC(ZSTD(1)),
  counters Array(LowCardinality(String)) MATERIALIZED arrayDistinct(arrayConcat(mapKeys(debits), mapKeys(budget_state))) CODEC(ZSTD(1)),
  -- Stamped on the batch, never answered.
  ingested_at DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
  producer LowCardinality(String) CODEC(ZSTD(1)),
  batch_id UUID CODEC(ZSTD(1)),
  batch_no UInt64 CODEC(ZSTD(1)),
  batch_rows UInt32 CODEC(ZSTD(1)),
  retention_days UInt16 CODEC(ZSTD(1)),
  INDEX ix_workspace workspace_id TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX ix_task task_id TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX ix_user user_id TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX ix_path path TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX ix_destination destination TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX ix_counters counters TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX ix_event_type event_type TYPE set(64) GRANULARITY 1,
  INDEX ix_decision decision TYPE set(4) GRANULARITY 1,
  INDEX ix_batch batch_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = {{engine ReplacingMergeTree}}
-- By arrival: late rows and imports never open hundreds of old partitions. Retention drops whole parts.
PARTITION BY (retention_days, toYYYYMM(ingested_at))
-- A plain UUID does not sort as its text does, so the key holds the number.
ORDER BY (org_id, timestamp, source_seq, toUInt128(id))
TTL toDateTime(ingested_at) + toIntervalDay(retention_days)
SETTINGS index_granularity = 2048, min_compress_block_size = 8192, {{dedup_window}} = 10000, ttl_only_drop_parts = 1,
  fsync_after_insert = 1, fsync_part_directory = 1;

{{#cluster}}
CREATE TABLE IF NOT EXISTS {{database}}.audit_events {{on_cluster}} AS {{database}}.audit_events_local
ENGINE = {{engine Distributed}};
{{/cluster}}
