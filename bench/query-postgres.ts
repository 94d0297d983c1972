import { pipeline } from 'node:stream/promises';
import postgres from 'postgres';
import type { BenchStack } from './stack.ts';

/** The same rows in Postgres as an ordinary service would keep them: jsonb for maps, an index for each way the pages are asked for. */
const schema = `
CREATE UNLOGGED TABLE bench_events (
  id uuid, org_id text, user_id text, timestamp timestamptz, source_seq bigint, event_type text, category text, actor text, workspace_id text, task_id text,
  agent_role text, agent_provider text, destination text, method text, path text, decision text, reason text, latency_ms integer, transforms_applied integer,
  validations_applied integer, policy_type text, phase text, capability_name text, detail text, debits jsonb, budget_state jsonb)`;

const indexes = [
  'CREATE UNIQUE INDEX ON bench_events (org_id, timestamp, source_seq, id)',
  'CREATE INDEX ON bench_events (org_id, workspace_id, timestamp, source_seq, id)',
  'CREATE INDEX ON bench_events (org_id, task_id, timestamp)',
  'CREATE INDEX ON bench_events (org_id, user_id, timestamp, source_seq, id)',
  'CREATE INDEX ON bench_events (org_id, event_type, timestamp, source_seq, id)',
  "CREATE INDEX ON bench_events (org_id, timestamp) WHERE decision = 'deny'",
  'CREATE INDEX ON bench_events USING gin (debits)',
];

const copied = 'id, org_id, user_id, timestamp, source_seq, event_type, category, actor, workspace_id, task_id, agent_role, agent_provider, destination, method, path, decision, reason, latency_ms, transforms_applied, validations_applied, policy_type, phase, capability_name, detail, toJSONString(debits), toJSONString(budget_state)';

export type BenchPostgres = ReturnType<typeof postgres>;

/** Copies the rows over and indexes them. */
export async function fillPostgres(stack: BenchStack): Promise<BenchPostgres> {
  // Every wait of the set-up is long on purpose; the measured statements have their own client settings.
  const sql = postgres(stack.dev.postgres_url, { max: 2, onnotice: () => undefined, connection: { statement_timeout: 0, jit: false, work_mem: '64MB', maintenance_work_mem: '512MB', TimeZone: 'UTC' } });
  await sql.unsafe(schema);
  const rows = await stack.clickhouse.exec({ query: `SELECT ${copied} FROM audit_events FORMAT CSV`, clickhouse_settings: { max_block_size: '8192' } });
  const sink = await sql`COPY bench_events FROM STDIN (FORMAT csv)`.writable();
  await pipeline(rows.stream, sink);
  for (const index of indexes) await sql.unsafe(index);
  await sql.unsafe('VACUUM ANALYZE bench_events');
  return sql;
}
