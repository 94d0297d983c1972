import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestAuthority } from '../clients/test-authority.ts';
import { Wire } from '../mix/wire.ts';
import { exchange, startHarness } from '../proxy-harness.ts';
import type { Harness, HarnessOptions } from '../proxy-harness.ts';
import { planted, plantedMint } from './planted.ts';
import { leaks } from './search.ts';

export type SecretRig = {
  readonly harness: Harness;
  /** A request as text, for a tunnel: with secrets in its query, its body, and the agent's own Authorization. */
  readonly text: (line: string, headers?: readonly string[], body?: string) => string;
  /** A tunnel to the upstream. */
  readonly tunnel: () => Promise<Wire>;
  /** Sends a request through a tunnel of its own, and keeps what came back. */
  readonly ask: (line: string, headers?: readonly string[], body?: string) => Promise<string>;
  /** Sends bytes to the proxy itself, `<token>` and `<expired>` filled in, and keeps what came back. */
  readonly send: (bytes: string) => Promise<string>;
  readonly received: string[];
  readonly leaks: () => Promise<string[]>;
};

const rules = (port: number): string => {
  const domains = `domains: ["api.example.com:${port}"]`;
  return `- name: demo
  type: http
  allow:
    - {name: plain, ${domains}, methods: [GET, POST], paths: ["/v1/**"]}
    - {name: checked, ${domains}, methods: [PUT], paths: ["/v1/**"], request_format: application/json, request_schema: {type: object, additionalProperties: false, properties: {model: {enum: [small]}, note: {type: string, pattern: "^ok", maxLength: 5}}}}
    - {name: asked, ${domains}, methods: [PATCH], paths: ["/v1/**"], request_format: application/json, match: {expr: 'int(request.body.token) > 0', requires_body: true}}
    - {name: merged, ${domains}, methods: [PUT], paths: ["/merge/**"], request_format: application/json}
    - {name: unminted, ${domains}, methods: [GET], paths: ["/unminted/**"]}
    - {name: failing, ${domains}, methods: [GET], paths: ["/failing/**"]}
  transforms:
    - {header: {name: x-key, action: set, value: 'secrets["llm"]'}}
    - {query: {key: again, action: set, value: 'secrets["llm"]'}}
    - {applies_to: [plain], auth: {credential: hub, provider: github}}
    - {applies_to: [plain], auth: {credential: search, provider: serpapi}}
    - {applies_to: [merged], body: {action: merge, value: '{"key": secrets["llm"]}'}}
    - {name: broken, applies_to: [unminted], auth: {credential: broken, provider: github}}
    - {name: absent, applies_to: [unminted], auth: {credential: absent, provider: openai}}
    - {name: number, applies_to: [failing], header: {name: x-number, action: set, value: 'string(int(secrets["llm"]))'}}
    - {name: lines, applies_to: [failing], header: {name: x-lines, action: set, value: 'secrets["llm"] + "\\r\\nx: y"'}}
  budgets: {counters: [{name: calls, source: request.count, workspace: {max: 1000}}]}
`;
};

/** A proxy with a secret in every place one can be. `port` is that of the https upstream; to plain http nothing is minted. */
export async function secretRig(t: { teardown(fn: () => Promise<void>): unknown }, { caPath }: TestAuthority, port: number, options: HarnessOptions = {}): Promise<SecretRig> {
  const dir = await mkdtemp(join(tmpdir(), 'customhouse-secrets-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const reported: unknown[] = [];
  const note = (what: unknown): void => void reported.push(what);
  const harness = await startHarness(t, {
    caps: rules(port), mint: plantedMint(note, note), env: { PROXY_UPSTREAM_CA: caPath }, ...options,
    workspace: { secrets: new Map([['llm', planted.workspace]]), ...options.workspace },
    // Segments stay as they are written, in clear, until the rows are read.
    journal: { dir, sealMs: 600_000, sealBytes: 8_388_608, ...options.journal },
  });
  const token = await harness.token({ taskId: 'task-1' });
  const expired = await harness.token({}, -10);
  const received: string[] = [];
  const host = `api.example.com:${port}`;
  const text = (line: string, headers: readonly string[] = [], body = ''): string => {
    const [method, path] = line.split(' ');
    return [
      `${method} ${path}?a=${planted.query}&token=${planted.query} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${planted.authorization}`, `Cookie: session=${planted.authorization}`,
      ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]), ...(headers.length === 0 ? ['Connection: close'] : headers), '', body,
    ].join('\r\n');
  };
  const tunnel = async (): Promise<Wire> => {
    const wire = new Wire(harness.port);
    await wire.send(`CONNECT ${host} HTTP/1.1\r\nProxy-Authorization: Bearer ${token}\r\n\r\n`);
    await wire.until(/\r\n\r\n/);
    received.push(wire.received);
    if (wire.received.startsWith('HTTP/1.1 200 ')) await wire.secure(harness.ca, 'api.example.com');
    return wire;
  };
  const ask = async (line: string, headers?: readonly string[], body?: string): Promise<string> => {
    const wire = await tunnel();
    await wire.last(text(line, headers, body));
    received.push(wire.received);
    return wire.received;
  };
  const send = async (bytes: string): Promise<string> => {
    const answer = await exchange(harness.port, bytes.replaceAll('<token>', token).replaceAll('<expired>', expired));
    received.push(answer);
    return answer;
  };
  return { harness, text, tunnel, ask, send, received, leaks: () => leaks(harness, dir, received, [token, expired], reported) };
}
