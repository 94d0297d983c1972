import type { BenchStack } from './stack.ts';

export const rowCount = 5_000_000;
const days = 30;
const orgCount = 200;

/** End of the generated history, microseconds; a fixed day, so that two runs make the same rows. */
export const untilMs = Date.UTC(2026, 9, 31);
export const sinceMs = untilMs - days * 86_400_000;

/**
 * Rows made inside ClickHouse: 200 orgs, the benchmark's own with 30 %, the others ever smaller; 30 days; four of five rows
 * are policy decisions; one counter is in one row of 20,000.
 */
function generator(orgId: string, from: number, rows: number): string {
  const pick = (values: readonly string[], salt: number): string => `[${values.map((value) => `'${value}'`).join(',')}][1 + cityHash64(n, ${salt}) % ${values.length}]`;
  const share = (salt: number): string => `(cityHash64(n, ${salt}) % 1000000 / 1000000)`;
  return `
WITH number + ${from} AS n,
  ${share(1)} AS u, if(u < 0.3, 0, toUInt32(1 + pow((u - 0.3) / 0.7, 3) * ${orgCount - 1})) AS org_no,
  cityHash64(n, 2) % 100 AS kind,
  toUInt32(pow(${share(3)}, 2) * 400) AS ws_no, concat('ws-', toString(org_no), '-', toString(ws_no)) AS ws,
  ${sinceMs} * 1000 + intDiv(n * ${days * 86_400_000_000}, ${rowCount}) + cityHash64(n, 4) % 500 AS micros,
  cityHash64(n, 5) % 100 < 14 AS denied, toInt64(pow(${share(6)}, 2) * 4000) AS tokens,
  lower(leftPad(hex(toUInt64(intDiv(micros, 1000))), 12, '0')) AS h0, substring(h0, length(h0) - 11) AS h, lower(concat(hex(cityHash64(n, 7)), hex(cityHash64(n, 18)), '0000')) AS r
SELECT
  toUUID(concat(substring(h, 1, 8), '-', substring(h, 9, 4), '-7', substring(r, 1, 3), '-8', substring(r, 4, 3), '-', substring(r, 7, 12))) AS id,
  if(org_no = 0, '${orgId}', concat('00000000-0000-7000-8000-', leftPad(toString(org_no), 12, '0'))) AS org_id,
  concat('user-', toString(ws_no % 40)) AS user_id,
  fromUnixTimestamp64Micro(toInt64(micros), 'UTC') AS timestamp, toInt64(n) AS source_seq,
  multiIf(kind < 80, 'policy_decision', kind < 95, ${pick(['tool_call', 'tool_result', 'agent_response', 'iteration_end'], 8)}, kind < 97, 'task_submitted', kind < 99, 'task_completed', 'secret_created') AS event_type,
  if(kind < 80 OR kind = 99, 'audit', 'activity') AS category, multiIf(kind < 80, 'policy-engine', kind < 95, 'agent', 'control-plane') AS actor,
  if(kind = 99, '', ws) AS workspace_id, if(kind = 99, '', concat('task-', toString(org_no), '-', toString(cityHash64(n, 9) % 20000))) AS task_id,
  if(kind = 99, '', ${pick(['coder', 'reviewer', 'support', 'analyst'], 10)}) AS agent_role, if(kind = 99, '', ${pick(['llm-one', 'llm-two'], 11)}) AS agent_provider,
  if(kind < 80, concat('host-', toString(toUInt32(pow(${share(12)}, 4) * 800)), '.example.com'), '') AS destination,
  if(kind < 80, ${pick(['GET', 'POST', 'PUT', 'DELETE'], 13)}, '') AS method, if(kind < 80, concat('/v1/items/', toString(cityHash64(n, 14) % 300000)), '') AS path,
  multiIf(kind >= 80, '', denied, 'deny', 'allow') AS decision, if(kind < 80 AND denied, ${pick(['no_match', 'budget_exhausted', 'schema_violation'], 15)}, '') AS reason,
  if(kind < 80, toUInt32(3 + pow(${share(16)}, 5) * 2000), 0) AS latency_ms, if(kind < 80, toUInt16(n % 3), 0) AS transforms_applied, if(kind < 80, toUInt16(n % 2), 0) AS validations_applied,
  if(kind < 80, 'http', '') AS policy_type, if(kind < 80, if(denied, 'request_headers', 'response_body'), '') AS phase, if(kind < 80 AND NOT denied, ${pick(['llm', 'code-host', 'tickets', 'search'], 17)}, '') AS capability_name,
  if(kind < 80, '', concat('{"note":"', toString(n % 97), '"}')) AS detail,
  CAST(if(kind < 80 AND NOT denied, if(n % 20000 = 7, map('requests', toInt64(1), 'tokens', tokens, 'gpu_minutes', toInt64(3)), map('requests', toInt64(1), 'tokens', tokens)), map()), 'Map(LowCardinality(String), Int64)') AS debits,
  CAST(if(kind < 80 AND NOT denied, map('tokens', concat('{"used":', toString(tokens * 3), '}')), map()), 'Map(LowCardinality(String), String)') AS budget_state,
  toDateTime64('2026-11-01 00:00:00', 3, 'UTC') AS ingested_at, 'bench' AS producer, toUUID('00000000-0000-7000-8000-000000000001') AS batch_id, 1 AS batch_no, ${rowCount} AS batch_rows, 400 AS retention_days
FROM numbers(${rows})`;
}

const inserted = 'id, org_id, user_id, timestamp, source_seq, event_type, category, actor, workspace_id, task_id, agent_role, agent_provider, destination, method, path, decision, reason, latency_ms, transforms_applied, validations_applied, policy_type, phase, capability_name, detail, debits, budget_state, ingested_at, producer, batch_id, batch_no, batch_rows, retention_days';

export async function fillClickHouse(stack: BenchStack): Promise<void> {
  const chunk = 500_000;
  for (let from = 0; from < rowCount; from += chunk) {
    await stack.clickhouse.command({ query: `INSERT INTO audit_events (${inserted}) SETTINGS insert_deduplication_token = 'bench-${from}' ${generator(stack.org.org_id, from, chunk)}` });
  }
  await stack.clickhouse.command({ query: 'OPTIMIZE TABLE audit_events FINAL' });
}
