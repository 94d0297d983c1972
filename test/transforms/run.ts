import { decodeQuery } from '../../src/kernel/raw-target.ts';
import { readPolicyText } from '../../src/policy/read-policy.ts';
import { applyTransforms } from '../../src/transforms/apply.ts';
import type { HeaderField, Minted, OutgoingBody, OutgoingRequest, TransformOutcome } from '../../src/transforms/contract.ts';

export const limits = { headerBytesMax: 2_000, bodyBytesMax: 2_000, targetBytesMax: 500 };

export type Given = {
  readonly rule?: string;
  readonly method?: string;
  readonly scheme?: 'http' | 'https';
  readonly path?: string;
  readonly query?: string;
  readonly headers?: readonly HeaderField[];
  readonly body?: OutgoingBody;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly minted?: Minted;
  readonly onMint?: () => void;
};

/** Compiles a capability with these transforms (YAML flow maps), and applies them to a request that its only rule admits. */
export async function run(transforms: readonly string[], given: Given = {}): Promise<TransformOutcome> {
  const rule = given.rule ?? '{name: one, domains: [api.example.com], methods: [GET, POST, OPTIONS], request_format: application/json, request_schema: {properties: {user: {type: string}}}, allow_insecure: true}';
  const text = `- name: demo\n  type: http\n  allow: [${rule}]\n  transforms:\n${transforms.map((one) => `    - ${one}\n`).join('')}`;
  const { policy, problems } = readPolicyText(text);
  const capability = policy?.document.capabilities[0];
  const allow = capability?.allow[0];
  if (capability === undefined || allow === undefined) throw new Error(JSON.stringify(problems));
  const request: OutgoingRequest = {
    method: given.method ?? 'POST', scheme: given.scheme ?? 'https', host: 'api.example.com', port: 443, path: given.path ?? '/v1/items', rawQuery: given.query ?? '',
    headers: given.headers ?? [], body: given.body ?? { kind: 'none' },
  };
  const body: unknown = request.body.kind === 'buffered' ? JSON.parse(request.body.text) : undefined;
  return applyTransforms(request, capability.transforms, {
    rule: allow,
    bindings: {
      request: {
        method: request.method, path: request.path, host: request.host, scheme: request.scheme, rawQuery: request.rawQuery, query: decodeQuery(request.rawQuery),
        headers: new Map(request.headers.map(([name, value]) => [name.toLowerCase(), value])), ...(body === undefined ? {} : { body }),
      },
      workspace: { id: 'w1', orgId: 'o1', role: 'crawler', environment: 'test' },
      task: { id: 't1' },
    },
    secrets: new Map(Object.entries(given.secrets ?? {})),
    sinkOf: (provider) => (provider === 'serpapi' ? { kind: 'query', name: 'api_key' } : { kind: 'header', name: 'Authorization' }),
    mint: async () => {
      given.onMint?.();
      return given.minted;
    },
    limits,
  });
}

export const json = (value: unknown): OutgoingBody => ({ kind: 'buffered', text: typeof value === 'string' ? value : JSON.stringify(value) });
