import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import type { ClickHouseClient, ClickHouseClientConfigOptions } from '@clickhouse/client';

/** The published client as anybody uses it, without its log: these tests make errors on purpose. */
export function quietClient(url: string, options: Omit<ClickHouseClientConfigOptions, 'url' | 'log'> = {}): ClickHouseClient {
  return createClient({ url, log: { level: ClickHouseLogLevel.OFF }, ...options });
}

/** The rows of a query in JSONEachRow. */
export async function rowsOf<T = Record<string, unknown>>(client: ClickHouseClient, query: string, options: { query_params?: Record<string, unknown>; clickhouse_settings?: Record<string, string | number> } = {}): Promise<T[]> {
  const result = await client.query({ query, format: 'JSONEachRow', ...options });
  return result.json<T>();
}

/** Tries until it is true; fails with `what` after a bound that only a defect reaches. */
export async function eventually(what: string, check: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`did not happen: ${what}`);
}

/** The error a promise rejects with. */
export async function errorOf(promise: Promise<unknown>): Promise<Error & { code?: string; type?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as Error & { code?: string; type?: string };
  }
  throw new Error('expected an error and got none');
}
