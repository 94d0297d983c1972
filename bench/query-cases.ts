export type QueryCase = { readonly name: string; readonly path: string; readonly clickhouse: string; readonly postgres: string };

type Key = { timestamp: string; source_seq: number; id: string };

/** The answered columns, as the service reads them: the bare SQL must not read less. */
const read = 'id, user_id, timestamp, source_seq, event_type, category, actor, workspace_id, task_id, agent_role, agent_provider, destination, method, path, decision, reason, latency_ms, transforms_applied, validations_applied, policy_type, phase, capability_name, detail, debits, budget_state, floored, transforms_failed, auth_used, auth_failures';

function page(name: string, orgId: string, query: { path: string; clickhouse?: string; postgres?: string; limit?: number }): QueryCase {
  const limit = query.limit ?? 100;
  const where = (extra: string | undefined): string => `org_id = '${orgId}'${extra === undefined ? '' : ` AND ${extra}`}`;
  return {
    name,
    path: query.path,
    clickhouse: `SELECT ${read} FROM audit_events WHERE ${where(query.clickhouse)} ORDER BY timestamp DESC, source_seq DESC, toUInt128(id) DESC LIMIT ${limit}`,
    postgres: `SELECT * FROM bench_events WHERE ${where(query.postgres ?? query.clickhouse)} ORDER BY timestamp DESC, source_seq DESC, id DESC LIMIT ${limit}`,
  };
}

export function pageCases(orgId: string, deep: { path: string; last: Key }): QueryCase[] {
  const { timestamp, source_seq, id } = deep.last;
  const time = `toDateTime64('${timestamp.slice(0, 10)} ${timestamp.slice(11, 26)}', 6, 'UTC')`;
  return [
    page('first page', orgId, { path: '/v1/audit?limit=100' }),
    page('page at depth 100,000', orgId, {
      path: deep.path,
      clickhouse: `timestamp <= ${time} AND (timestamp < ${time} OR (timestamp = ${time} AND (source_seq < ${source_seq} OR (source_seq = ${source_seq} AND toUInt128(id) < toUInt128(toUUID('${id}'))))))`,
      postgres: `(timestamp, source_seq, id) < ('${timestamp}', ${source_seq}, '${id}')`,
    }),
    page('one workspace', orgId, { path: '/v1/audit?limit=100&filter=workspace_id=ws-0-350', clickhouse: "workspace_id = 'ws-0-350'" }),
    page('rare counter', orgId, { path: '/v1/audit?limit=100&filter=counter=gpu_minutes', clickhouse: "has(counters, 'gpu_minutes')", postgres: "debits ? 'gpu_minutes'" }),
    page('rare path', orgId, { path: '/v1/audit?limit=100&filter=path=/v1/items/4711', clickhouse: "path = '/v1/items/4711'" }),
    page('matches nothing', orgId, { path: '/v1/audit?limit=100&filter=workspace_id=ws-none', clickhouse: "workspace_id = 'ws-none'" }),
    page('limit=10000', orgId, { path: '/v1/audit?limit=10000', limit: 10_000 }),
  ];
}

type Window = { from: string; to: string; weekFrom: string };

function stats(name: string, orgId: string, window: { from: string; to: string }, query: { path: string; select: string; group: string; postgres?: { select?: string; group?: string; where?: string }; where?: string; tail?: string }): QueryCase {
  const sqlTime = (text: string): string => `${text.slice(0, 10)} ${text.slice(11, 26)}`;
  const bounds = (cast: (text: string) => string): string => `org_id = '${orgId}' AND timestamp >= ${cast(window.from)} AND timestamp < ${cast(window.to)}`;
  const statement = (table: string, select: string, where: string | undefined, group: string, cast: (text: string) => string): string =>
    `SELECT ${select} FROM ${table} WHERE ${bounds(cast)}${where === undefined ? '' : ` AND ${where}`} GROUP BY ${group} ORDER BY ${query.tail ?? group}`;
  return {
    name,
    path: `/v1/audit/stats?${query.path}&from=${window.from}&to=${window.to}`,
    clickhouse: statement('audit_events', query.select, query.where, query.group, (text) => `toDateTime64('${sqlTime(text)}', 6, 'UTC')`),
    postgres: statement('bench_events', query.postgres?.select ?? query.select, query.postgres?.where ?? query.where, query.postgres?.group ?? query.group, (text) => `'${text}'::timestamptz`),
  };
}

/** Eight stats queries as dashboards ask them; 30 days unless the name says otherwise. */
export function statsCases(orgId: string, window: Window): QueryCase[] {
  const month = { from: window.from, to: window.to };
  const week = { from: window.weekFrom, to: window.to };
  return [
    stats('count by event_type', orgId, month, { path: 'group_by=event_type', select: 'event_type, count(*)', group: 'event_type' }),
    stats('count per day and decision', orgId, month, {
      path: 'group_by=decision&time_bucket=1d', select: 'toStartOfDay(timestamp) AS b, decision, count(*)', group: 'b, decision',
      postgres: { select: "date_trunc('day', timestamp) AS b, decision, count(*)" },
    }),
    stats('count per hour, reason, 7 days', orgId, week, {
      path: 'group_by=reason&time_bucket=1h', select: 'toStartOfHour(timestamp) AS b, reason, count(*)', group: 'b, reason',
      postgres: { select: "date_trunc('hour', timestamp) AS b, reason, count(*)" },
    }),
    stats('sum of tokens per role and day', orgId, month, {
      path: 'group_by=agent_role&time_bucket=1d&metric=sum:tokens', select: "toStartOfDay(timestamp) AS b, agent_role, sum(debits['tokens'])", group: 'b, agent_role',
      postgres: { select: "date_trunc('day', timestamp) AS b, agent_role, sum((debits->>'tokens')::bigint)" },
    }),
    stats('average latency by destination', orgId, month, { path: 'group_by=destination&metric=avg:latency_ms', select: 'destination, avg(latency_ms)', group: 'destination', where: "event_type = 'policy_decision'" }),
    stats('latency in ranges', orgId, month, {
      path: 'bucket_by=latency_ms:10,50,100,500', select: 'multiIf(latency_ms < 10, 0, latency_ms < 50, 1, latency_ms < 100, 2, latency_ms < 500, 3, 4) AS b, count(*)', group: 'b', where: "event_type = 'policy_decision'",
      postgres: { select: 'CASE WHEN latency_ms < 10 THEN 0 WHEN latency_ms < 50 THEN 1 WHEN latency_ms < 100 THEN 2 WHEN latency_ms < 500 THEN 3 ELSE 4 END AS b, count(*)' },
    }),
    stats('top 10 destinations', orgId, month, { path: 'group_by=destination&top=10:destination&filter=destination!=', select: 'destination, count(*) AS n', group: 'destination', where: "destination <> ''", tail: 'n DESC LIMIT 10' }),
    stats('count by user and category', orgId, month, { path: 'group_by=user_id,category', select: 'user_id, category, count(*)', group: 'user_id, category' }),
  ];
}
