import type tapTest from 'tap';
import { startUpstream } from '../local-upstream.ts';
import { RawClient, startHarness } from '../proxy-harness.ts';
import type { HarnessOptions } from '../proxy-harness.ts';

/** A request as bytes on the wire. `HOST` stands for the allowed host with its port, `AUTH` for the header with the token, `PORT` for the port. */
export type Attack = {
  /** Number in the list of attack cases, and what it is. */
  readonly name: string;
  readonly send: string;
  /** What the one row says. */
  readonly row: object;
  readonly status?: RegExp;
  readonly caps?: (port: number) => string;
  readonly options?: HarnessOptions;
};

const plainCaps = (port: number): string => `- name: demo
  type: http
  allow:
    - {name: plain, domains: ["api.example.com:${port}"], methods: [GET, POST, OPTIONS], paths: ["/v1/**"], allow_insecure: true}
    - {name: judged, domains: ["api.example.com:${port}"], methods: [PUT], paths: ["/v1/**"], allow_insecure: true, request_format: application/json, request_schema: {type: object, required: [model], properties: {model: {enum: [small]}}}}
`;

/** Sends one attack to a proxy of its own: exactly one row, and nothing reaches the upstream. */
export async function repelled(t: Pick<typeof tapTest, 'match' | 'equal' | 'teardown'>, { name, send, row, status = /^HTTP\/1\.1 4\d\d /, caps = plainCaps, options }: Attack): Promise<void> {
  const upstream = await startUpstream(t);
  const harness = await startHarness(t, { caps: caps(upstream.port), env: { PROXY_ALLOW_PRIVATE_UPSTREAMS: '127.0.0.0/8', PROXY_HANDSHAKE_TIMEOUT_MS: '300' }, ...options });
  const token = await harness.token();
  const text = send.replaceAll('HOST', `api.example.com:${upstream.port}`).replaceAll('AUTH', `Proxy-Authorization: Bearer ${token}`).replaceAll('PORT', String(upstream.port));
  const client = new RawClient(harness.port).send(text);
  const answered = client.until(/\r\n\r\n[^]*$/);
  await Promise.race([client.closed, answered.catch(() => undefined)]);
  t.match(client.received, status, `${name}: answered`);
  client.socket.destroy();
  let rows = await harness.rows();
  // A connection may end before its row is written; a test without one ends by its time limit.
  while (rows.length === 0) rows = await harness.rows();
  t.equal(rows.length, 1, `${name}: one row`);
  t.match(rows[0], { decision: 'deny', ...row }, `${name}: the row`);
  t.equal(upstream.hits.length, 0, `${name}: nothing upstream`);
}
