import type { HeaderField } from '../transforms/contract.ts';

/** Of one hop, or about how to reach the upstream otherwise: `alt-svc` would lead agents around the proxy (attacks 106). */
const dropped: ReadonlySet<string> = new Set([
  'connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authentication-info', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'alt-svc',
]);

export type AnswerHead = {
  /** For `writeHead`, names and values in turn. */
  readonly headers: string[];
  readonly headerMap: ReadonlyMap<string, string>;
  /** Bytes of the body; undefined for a chunked one. */
  readonly length: number | undefined;
};

/** Headers of an upstream's answer as the agent gets them. */
export function answerHead(fields: readonly HeaderField[], requestId: string, scrub: (value: string) => string): AnswerHead {
  const named = new Set(fields.filter(([name]) => name.toLowerCase() === 'connection').flatMap(([, value]) => value.split(',')).map((name) => name.trim().toLowerCase()));
  const headers: string[] = [];
  const headerMap = new Map<string, string>();
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    const before = headerMap.get(lower);
    headerMap.set(lower, before === undefined ? value : `${before},${value}`);
    if (!dropped.has(lower) && !named.has(lower)) headers.push(name, scrub(value));
  }
  headers.push('x-customhouse-request-id', requestId);
  const length = headerMap.get('content-length');
  return { headers, headerMap, length: length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined };
}

/** Whether an answer has no body whatever its headers say (RFC 9112, 6.3). */
export function isBodyless(method: string, status: number): boolean {
  return method === 'HEAD' || status === 204 || status === 304 || status < 200;
}
