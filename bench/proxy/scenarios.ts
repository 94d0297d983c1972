/** Where the upstream is. Every proxy dials an address, so that no resolver is measured. */
export const host = '127.0.0.1';

export type Ports = { readonly http: number; readonly https: number };

/** Kept: each connection opens one tunnel and keeps it. Fresh: a connection, a CONNECT and a full handshake for each request. */
export type Tunnel = 'none' | 'kept' | 'fresh';

export type Scenario = {
  readonly name: string;
  readonly title: string;
  readonly tunnel: Tunnel;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body: string;
  readonly connections: number;
  /** Under saturation of every proxy but the slowest. */
  readonly ratePerSecond: number;
};

const message = { role: 'user', content: 'x'.repeat(920) };
const json = JSON.stringify({ model: 'small', messages: [message, message, message, message], stream: true, max_tokens: 100 });

export const scenarios: readonly Scenario[] = [
  { name: 'plain', title: 'plain GET, keep-alive', tunnel: 'none', method: 'GET', path: '/v1/plain', body: '', connections: 32, ratePerSecond: 300 },
  { name: 'tls', title: 'GET inside kept tunnels', tunnel: 'kept', method: 'GET', path: '/v1/plain', body: '', connections: 16, ratePerSecond: 300 },
  { name: 'connect', title: 'CONNECT and handshake each', tunnel: 'fresh', method: 'GET', path: '/v1/plain', body: '', connections: 16, ratePerSecond: 50 },
  { name: 'post', title: 'POST of 4 KB JSON, schema', tunnel: 'none', method: 'POST', path: '/v1/json', body: json, connections: 32, ratePerSecond: 300 },
  { name: 'stream', title: '500 events, usage extracted', tunnel: 'none', method: 'POST', path: '/v1/stream', body: json, connections: 8, ratePerSecond: 20 },
];

/** Our rules: one host, GET and POST, each request counted; the schema and the extraction where the scenario asks for them. */
export function policyText({ http, https }: Ports): string {
  const domains = `domains: ["${host}:${http}", "${host}:${https}"]`;
  return `
- name: plain
  type: http
  allow:
    - {name: plain, ${domains}, methods: [GET, POST], paths: ["/v1/plain"], allow_insecure: true}
  budgets:
    counters: [{name: calls, source: request.count, workspace: {max: 1000000000}}]
- name: json
  type: http
  allow:
    - name: json
      ${domains}
      methods: [POST]
      paths: ["/v1/json"]
      allow_insecure: true
      request_format: application/json
      request_schema:
        type: object
        required: [model, messages]
        properties:
          model: {enum: [small, large]}
          messages: {type: array, minItems: 1, maxItems: 50, items: {type: object, required: [role, content], properties: {role: {enum: [user, system]}, content: {type: string, maxLength: 4000}}}}
          max_tokens: {type: integer, maximum: 1000}
  budgets:
    counters: [{name: calls, source: request.count, workspace: {max: 1000000000}}]
- name: stream
  type: http
  allow:
    - {name: stream, ${domains}, methods: [POST], paths: ["/v1/stream"], allow_insecure: true}
  transforms:
    - header: {name: accept-encoding, action: set, value: '"identity"'}
  budgets:
    counters:
      - name: tokens
        source: response
        value: "has(event.usage) && event.usage != null ? event.usage.total_tokens : 0"
        requires_body: true
        framing: sse
        format: application/json
        encoding: identity
        accumulator: sum
        workspace: {max: 1000000000000}
        status_codes: ["2xx"]
        terminal_sentinel: "[DONE]"
`;
}
