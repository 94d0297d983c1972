import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ClickHouseException, badArguments, notImplemented } from './exception.ts';
import { quoteIdentifier, quoteString } from './engine.ts';

/** What the URL and headers of a request say; the body is read later. */
export interface QueryRequest {
  readonly queryId: string;
  /** The part of the query that stands in the URL. */
  readonly urlQuery: string;
  readonly database: string | undefined;
  readonly defaultFormat: string;
  readonly settings: ReadonlyMap<string, string>;
  /** By name without `param_`. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly compressResponse: boolean;
  /** The answer must be complete before its first byte is sent. */
  readonly waitEndOfQuery: boolean;
  /** GET must change nothing. */
  readonly readOnly: boolean;
}

const unsupported = new Set(['session_id', 'role', 'decompress', 'compress']);
const ignored = new Set(['user', 'password', 'quota_key', 'session_timeout', 'session_check', 'close_session', 'stacktrace', 'buffer_size', 'client_protocol_version']);
const namePattern = /^[A-Za-z_][A-Za-z0-9_.]{0,199}$/;

/** Reads the interface's own parameters; every other one is a setting, and the engine refuses those it does not know (code 115). */
export function readQueryRequest(request: IncomingMessage, url: URL, fields: ReadonlyMap<string, string>): QueryRequest {
  const settings = new Map<string, string>();
  const parameters = new Map<string, string>();
  const own = new Map<string, string>();
  const add = (name: string, value: string): void => {
    if (['query', 'database', 'default_format', 'query_id', 'wait_end_of_query', 'enable_http_compression'].includes(name)) own.set(name, value);
    else if (unsupported.has(name)) refuseUnsupported(name, value);
    else if (name.startsWith('param_')) parameters.set(checkName(name.slice(6), value), value);
    else if (!ignored.has(name)) settings.set(checkName(name, value), value);
  };
  for (const [name, value] of url.searchParams) add(name, value);
  for (const [name, value] of fields) add(name, value);
  const header = (name: string): string | undefined => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  const queryId = own.get('query_id') || randomUUID();
  if (!/^[\x20-\x7e]{1,200}$/.test(queryId)) throw badArguments('query_id must be 1 to 200 printable ASCII characters.');
  return {
    queryId,
    urlQuery: own.get('query') ?? '',
    database: own.get('database') || header('x-clickhouse-database'),
    defaultFormat: own.get('default_format') || header('x-clickhouse-format') || 'TabSeparated',
    settings,
    parameters,
    compressResponse: isOn(own.get('enable_http_compression')),
    waitEndOfQuery: isOn(own.get('wait_end_of_query')),
    readOnly: request.method !== 'POST',
  };
}

function refuseUnsupported(name: string, value: string): void {
  if (value !== '' && value !== '0') throw notImplemented(`The embedded server does not support the parameter ${name}.`);
}

function checkName(name: string, value: string): string {
  if (!namePattern.test(name) && !/^\w{1,200}$/.test(name)) throw new ClickHouseException(115, 'UNKNOWN_SETTING', `Unknown setting ${JSON.stringify(name.slice(0, 100))}.`);
  if (value.includes('\0')) throw badArguments(`The value of ${name} contains a NUL character.`);
  return name;
}

const isOn = (value: string | undefined): boolean => value === '1' || value === 'true';

/**
 * The statements that prepare a fresh connection for the request. `tag` becomes `log_comment`, the one thing of ours that shows in
 * system.processes and by which the query can be stopped: chDB makes query ids of its own.
 */
export function preparation(request: QueryRequest, tag: string): string[] {
  const assignments = new Map<string, string>();
  for (const [name, value] of request.settings) assignments.set(name, value);
  for (const [name, value] of request.parameters) assignments.set(`param_${name}`, value);
  // Behind `readonly` nothing can be set any more; GET is read-only as in ClickHouse (2: settings may differ, data may not).
  const readOnly = assignments.get('readonly') ?? (request.readOnly ? '2' : undefined);
  assignments.delete('readonly');
  assignments.set('log_comment', tag);
  const set = [...assignments].map(([name, value]) => `${name} = ${quoteString(value)}`).join(', ');
  // Long parameters make a statement longer than the engine parses by default; the limit on the query itself stays as it was.
  const long = set.length > 100_000;
  return [
    ...(long ? [`SET max_query_size = ${set.length * 4}`] : []),
    ...(request.database === undefined || request.database === 'default' ? [] : [`USE ${quoteIdentifier(request.database)}`]),
    `SET ${set}`,
    ...(long && !assignments.has('max_query_size') ? ['SET max_query_size = DEFAULT'] : []),
    ...(readOnly === undefined ? [] : [`SET readonly = ${quoteString(readOnly)}`]),
  ];
}
