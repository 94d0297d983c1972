import type { HeaderField } from '../transforms/contract.ts';

/** Headers that belong to one hop (RFC 9110, 7.6.1) or to this proxy; they are never passed on, whatever their values. */
const dropped: ReadonlySet<string> = new Set([
  'connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings', 'expect',
  'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'x-capability-token',
  // Some upstreams route by these instead of the path or host that was decided on.
  'x-original-url', 'x-rewrite-url', 'x-forwarded-host', 'x-original-host', 'x-http-method-override', 'x-method-override', 'x-http-method',
  'host', 'content-length',
]);

/** Two of these have no meaning both sides agree on. */
const single: ReadonlySet<string> = new Set([
  'host', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'authorization', 'expect', 'upgrade', 'x-capability-token', 'proxy-authorization',
]);

export type CanonicalHeaders = {
  readonly host: string;
  /** What goes on, in wire order. */
  readonly headers: readonly HeaderField[];
  readonly headerMap: ReadonlyMap<string, string>;
  readonly body: 'none' | { readonly length: number } | 'chunked';
  readonly expectContinue: boolean;
  readonly upgrade: string | undefined;
};

/** Lower-case names and values of one raw header list, as Node gives it. */
function pairs(rawHeaders: readonly string[]): readonly HeaderField[] {
  const fields: HeaderField[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) fields.push([rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '']);
  return fields;
}

/** CGI-like upstreams read `Proxy_Authorization` as `Proxy-Authorization`: both are one name here. */
function nameOf(field: HeaderField): string {
  return field[0].toLowerCase();
}

export function readHeaders(rawHeaders: readonly string[], method: string): CanonicalHeaders | { readonly refused: string; readonly status: number } {
  const fields = pairs(rawHeaders);
  const values = new Map<string, string[]>();
  for (const field of fields) {
    const known = values.get(nameOf(field));
    if (known === undefined) values.set(nameOf(field), [field[1]]);
    else known.push(field[1]);
  }
  for (const [name, list] of values) if (list.length > 1 && single.has(name)) return { refused: `duplicate_${name.replaceAll('-', '_')}`, status: 400 };
  const only = (name: string): string | undefined => values.get(name)?.[0];

  const host = only('host');
  if (host === undefined) return { refused: 'no_host', status: 400 };
  const body = bodyOf(only('transfer-encoding'), only('content-length'));
  if (body === undefined) return { refused: 'body_framing', status: 400 };
  if (body !== 'none' && (method === 'GET' || method === 'HEAD')) return { refused: 'body_on_bodyless_method', status: 400 };
  const expect = only('expect');
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') return { refused: 'expectation', status: 417 };
  const named = new Set((values.get('connection') ?? []).flatMap((value) => value.split(',')).map((name) => name.trim().toLowerCase()));
  const upgrade = named.has('upgrade') ? only('upgrade')?.trim().toLowerCase() : undefined;
  if (upgrade !== undefined && upgrade !== 'websocket') return { refused: 'upgrade_protocol', status: 400 };
  if (upgrade !== undefined && body !== 'none') return { refused: 'upgrade_with_body', status: 400 };

  const headers = fields.filter((field) => !dropped.has(nameOf(field).replaceAll('_', '-')) && !named.has(nameOf(field)));
  const headerMap = new Map<string, string>();
  for (const field of headers) {
    const before = headerMap.get(nameOf(field));
    headerMap.set(nameOf(field), before === undefined ? field[1] : `${before},${field[1]}`);
  }
  return { host, headers, headerMap, body, expectContinue: expect !== undefined, upgrade };
}

/** Undefined where two framings, or an odd one, would let two readers see different bodies. */
function bodyOf(transferEncoding: string | undefined, contentLength: string | undefined): CanonicalHeaders['body'] | undefined {
  if (transferEncoding !== undefined) return contentLength === undefined && transferEncoding.toLowerCase() === 'chunked' ? 'chunked' : undefined;
  if (contentLength === undefined) return 'none';
  if (!/^[0-9]{1,15}$/.test(contentLength)) return undefined;
  const length = Number(contentLength);
  return length === 0 ? 'none' : { length };
}
