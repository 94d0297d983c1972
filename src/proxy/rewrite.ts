import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import type { AuthProvider } from '../kernel/auth-providers.ts';
import { decodeQuery } from '../kernel/raw-target.ts';
import { readStrictJson } from '../kernel/strict-json.ts';
import type { CelBindings } from '../policy/cel/contract.ts';
import type { Allowed } from '../policy/compiled-policy.ts';
import { applyTransforms } from '../transforms/apply.ts';
import type { Minted, OutgoingRequest, Sink, TransformOutcome } from '../transforms/contract.ts';
import type { CanonicalRequest } from './contract.ts';
import type { Identified } from './identify.ts';
import type { BufferedBody } from './request-body.ts';
import { askingReadable } from './scrub/readable-answer.ts';

export type RewriteDeps = {
  readonly mint: (who: Identified, credential: string, provider: AuthProvider) => Promise<Minted | undefined>;
  readonly sinkOf: (provider: AuthProvider) => Sink;
  readonly bodyBytesMax: number;
  readonly headerBytesMax: number;
};

/** A body on its way out. `sentBytes` counts what left so far. */
export type SendingBody = { readonly body: Readable | Buffer | undefined; readonly length: number | undefined; readonly streams: boolean; readonly sentBytes: () => number };
export type Rewritten = { readonly transformed: TransformOutcome; readonly outgoing: OutgoingRequest; readonly sending: SendingBody };

const unchanged: Omit<TransformOutcome, 'request'> = { applied: 0, failed: new Map(), authUsed: [], authFailures: new Map(), secretsSent: [] };

/** The decided request in the form it leaves in (contract 2.7, 6.4). */
export async function rewrite(request: IncomingMessage, canonical: CanonicalRequest, allowed: Allowed | undefined, buffered: BufferedBody | undefined, identified: Identified, deps: RewriteDeps): Promise<Rewritten> {
  const original = originalOf(canonical, allowed, buffered);
  const transformed: TransformOutcome = allowed === undefined || allowed.transforms.length === 0
    ? { ...unchanged, request: original }
    : await applyTransforms(original, allowed.transforms, {
      rule: allowed.rule,
      bindings: bindingsOf(canonical, identified, buffered),
      secrets: identified.workspace.secrets,
      sinkOf: deps.sinkOf,
      mint: (credential, provider) => deps.mint(identified, credential, provider),
      limits: { headerBytesMax: deps.headerBytesMax, bodyBytesMax: deps.bodyBytesMax, targetBytesMax: deps.headerBytesMax },
    });
  const outgoing = transformed.secretsSent.length > 0 ? { ...transformed.request, headers: askingReadable(transformed.request.headers) } : transformed.request;
  return { transformed, outgoing, sending: sendingOf(outgoing, original, buffered, request, canonical) };
}

/** Ranges would show a counter a part of what is counted (attacks 85). */
function originalOf({ method, scheme, host, port, path, rawQuery, headers, body }: CanonicalRequest, allowed: Allowed | undefined, buffered: BufferedBody | undefined): OutgoingRequest {
  const metered = allowed?.counters.some(({ source, requiresBody }) => source === 'response' && requiresBody) === true;
  return {
    method, scheme, host, port, path, rawQuery,
    headers: metered ? headers.filter(([name]) => !/^(?:range|if-range)$/i.test(name)) : headers,
    body: body === 'none' ? { kind: 'none' } : buffered?.text === undefined ? { kind: 'stream' } : { kind: 'buffered', text: buffered.text },
  };
}

/** The bytes that were inspected are the bytes that go out, or what transforms made of them. */
function sendingOf(outgoing: OutgoingRequest, original: OutgoingRequest, buffered: BufferedBody | undefined, request: IncomingMessage, { body }: CanonicalRequest): SendingBody {
  if (outgoing.body.kind === 'none') return { body: undefined, length: 0, streams: false, sentBytes: () => 0 };
  if (buffered !== undefined) {
    const bytes = outgoing.body.kind === 'buffered' && outgoing.body !== original.body ? Buffer.from(outgoing.body.text) : buffered.bytes;
    return { body: bytes, length: bytes.length, streams: false, sentBytes: () => bytes.length };
  }
  let bytes = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  // The upstream leg hears of its end while it reads it; before and after that nobody does, and an error without a listener ends the process.
  counted.on('error', () => undefined);
  // A body that the agent cut must not reach the upstream as one that ended (attacks 61).
  request.once('error', (error) => counted.destroy(error));
  request.once('close', () => {
    if (!request.complete) counted.destroy(new Error('the agent cut its body'));
  });
  return { body: request.pipe(counted), length: typeof body === 'object' ? body.length : undefined, streams: true, sentBytes: () => bytes };
}

function bindingsOf(canonical: CanonicalRequest, { workspace, taskId }: Identified, body: BufferedBody | undefined): CelBindings {
  const read = body?.text === undefined ? undefined : readStrictJson(body.text);
  const { method, path, host, scheme, rawQuery, headerMap } = canonical;
  return {
    request: { method, path, host, scheme, rawQuery, headers: headerMap, query: decodeQuery(rawQuery), ...(read?.ok === true ? { body: read.value } : {}) },
    workspace: { id: workspace.id, orgId: workspace.orgId, role: workspace.agentRole, environment: workspace.environment },
    task: { id: taskId },
  };
}
