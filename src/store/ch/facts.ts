import type { ClickHouse } from './connection.ts';

export type ClickHouseFacts = { readonly version: string; readonly timezone: string };

/** What `doctor` reports. Throws the client's error when ClickHouse does not answer. */
export async function clickHouseFacts(clickhouse: ClickHouse): Promise<ClickHouseFacts> {
  const result = await clickhouse.client.query({ query: 'SELECT version() AS version, timezone() AS timezone', format: 'JSONEachRow', abort_signal: AbortSignal.timeout(5_000) });
  const [facts] = await result.json<ClickHouseFacts>();
  if (facts === undefined) throw new Error('ClickHouse gave no answer');
  return facts;
}
