import type { AuditEvent } from '../../src/events/event.ts';
import type { StatsBucket } from '../../src/query/stats-request.ts';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly events: AuditEvent[];
    readonly cursor?: string;
    readonly buckets: StatsBucket[];
    readonly error: { readonly code: string; readonly message: string; readonly request_id: string; readonly details?: { readonly fields?: Record<string, string>; readonly [key: string]: unknown } };
  };
};

export type Query = Readonly<Record<string, string | number | readonly string[]>>;

export function queryText(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => (Array.isArray(value) ? value as string[] : [String(value as string)]).map((one) => `${name}=${encodeURIComponent(one)}`));
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** A request as a client makes it. */
export async function ask(base: string, path: string, credential: string | undefined, query: Query = {}, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${base}${path}${queryText(query)}`, { headers: { ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }), ...headers } });
  return { status: response.status, headers: response.headers, body: await response.json() as Answer['body'] };
}

/** Every row of a paged route, page by page. */
export async function allPages(base: string, path: string, credential: string, query: Query): Promise<{ events: AuditEvent[]; pages: number }> {
  const events: AuditEvent[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const answer: Answer = await ask(base, path, credential, { ...query, ...(cursor === undefined ? {} : { cursor }) });
    if (answer.status !== 200) throw new Error(`page ${pages}: ${answer.status} ${JSON.stringify(answer.body)}`);
    events.push(...answer.body.events);
    cursor = answer.body.cursor;
    if (cursor === undefined) return { events, pages };
  }
}
