import type { ApiTarget } from '../target.ts';
import { CommandFailure, exitCodes } from './failure.ts';

/** Query parameters; undefined ones are left out, lists are repeated. */
export type Params = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** Longest silence of the API before the first byte of an answer. */
const answerMs = 120_000;

export function apiUrl(target: ApiTarget, path: string, params: Params): URL {
  const url = new URL(`${target.baseUrl}/v1${path}`);
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [String(value)]) url.searchParams.append(name, one);
  }
  return url;
}

type ErrorBody = { error?: { code?: unknown; message?: unknown; request_id?: unknown } };

/** The error body of contract 2.6 as one line: code, message, request id. */
export function refusal(status: number, text: string): CommandFailure {
  let body: ErrorBody = {};
  try {
    body = JSON.parse(text) as ErrorBody;
  } catch {
    // Not our API: the status has to do.
  }
  const error = body.error ?? {};
  const plain = (value: unknown): string | undefined => (typeof value === 'string' ? value.replace(/\p{Cc}/gu, '?').slice(0, 1000) : undefined);
  const message = plain(error.message);
  const what = message === undefined ? 'the answer has no error body; is this the API\'s address?' : `${plain(error.code) ?? 'error'}: ${message}`;
  const id = plain(error.request_id);
  return new CommandFailure(status >= 500 ? exitCodes.unavailable : exitCodes.refused, `${status} ${what}${id === undefined ? '' : ` (request ${id})`}`);
}

/** What went wrong below HTTP, without the stack of causes that fetch wraps it in. */
export function unreachable(target: ApiTarget, error: unknown): CommandFailure {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  const text = code ?? (cause instanceof Error ? cause.message : String(cause));
  return new CommandFailure(exitCodes.unavailable, `${target.baseUrl}: cannot be reached (${text})`, { cause: error });
}

export function authorization(target: ApiTarget): Record<string, string> {
  return { authorization: `Bearer ${target.token.reveal()}` };
}

/** GET of a JSON answer. Throws CommandFailure. */
export async function getJson<T>(target: ApiTarget, path: string, params: Params): Promise<T> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(apiUrl(target, path, params), { headers: { ...authorization(target), accept: 'application/json' }, redirect: 'error', signal: AbortSignal.timeout(answerMs) });
    text = await response.text();
  } catch (error) {
    throw unreachable(target, error);
  }
  if (!response.ok) throw refusal(response.status, text);
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new CommandFailure(exitCodes.unavailable, `${target.baseUrl}: answered something that is not JSON; is this the API's address?`, { cause: error });
  }
}
