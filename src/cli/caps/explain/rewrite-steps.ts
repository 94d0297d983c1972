import { sinkOf } from '../../../credentials/sinks.ts';
import type { Secret } from '../../../kernel/secret.ts';
import { readStrictJson } from '../../../kernel/strict-json.ts';
import { requestBindings } from '../../../policy/compile/bindings.ts';
import type { Allowed } from '../../../policy/compiled-policy.ts';
import type { Transform } from '../../../policy/model.ts';
import { applyTransforms } from '../../../transforms/apply.ts';
import type { OutgoingRequest, TransformDeps, TransformFailure } from '../../../transforms/contract.ts';
import type { ReadRequest } from './described-request.ts';
import { bodyBytesMax } from './described-request.ts';
import type { StandIns } from './stand-ins.ts';

/** One transform and the request on both sides of it, with stand-ins in the place of secrets. */
export type Step = {
  readonly transform: Transform;
  readonly before: OutgoingRequest;
  readonly after: OutgoingRequest;
  readonly failed: TransformFailure | undefined;
  /** It applies with the secret that was given, but not with the stand-in: what it makes is not shown. */
  readonly hidden: boolean;
};

/** What the proxy allows where it is not told otherwise. */
const limits = { headerBytesMax: 32_768, bodyBytesMax, targetBytesMax: 32_768 };

/**
 * The transforms of a decided request, one after the other, by the code that the proxy applies them with. Secrets that are given decide
 * whether a transform applies; what is shown is made with stand-ins, so that no part of a secret can end up in it.
 */
export async function rewriteSteps(read: ReadRequest, allowed: Allowed, secrets: ReadonlyMap<string, Secret>, standIns: StandIns): Promise<{ readonly steps: readonly Step[]; readonly sent: OutgoingRequest }> {
  const shownDeps = depsOf(read, allowed, standIns.secrets, standIns);
  const realDeps = secrets.size === 0 ? undefined : depsOf(read, allowed, new Map([...standIns.secrets, ...[...secrets].map(([key, secret]) => [key, secret.reveal()] as const)]), standIns);
  const steps: Step[] = [];
  let shown = outgoing(read, allowed);
  let real = shown;
  for (const transform of allowed.transforms) {
    const before = shown;
    const outcome = await applyTransforms(shown, [transform], shownDeps);
    const truth = realDeps === undefined ? outcome : await applyTransforms(real, [transform], realDeps);
    const failed = truth.failed.get(transform.id);
    const standInFailed = outcome.failed.get(transform.id);
    // A secret that fails a transform leaves the request as it is, whatever the stand-in would have made of it.
    shown = failed !== undefined && standInFailed === undefined ? before : outcome.request;
    real = truth.request;
    steps.push({ transform, before, after: shown, failed, hidden: failed === undefined && standInFailed !== undefined });
  }
  return { steps, sent: shown };
}

/** As the proxy begins: a body that nothing looked into streams through. */
function outgoing({ canonical, body }: ReadRequest, { bodyNeeded }: Allowed): OutgoingRequest {
  const { method, scheme, host, port, path, rawQuery, headers } = canonical;
  const sent = canonical.body === 'none' ? { kind: 'none' as const } : bodyNeeded && body.text !== undefined ? { kind: 'buffered' as const, text: body.text } : { kind: 'stream' as const };
  return { method, scheme, host, port, path, rawQuery, headers, body: sent };
}

function depsOf({ policy, body }: ReadRequest, { rule, bodyNeeded }: Allowed, secrets: ReadonlyMap<string, string>, standIns: StandIns): TransformDeps {
  const bindings = requestBindings(policy)();
  const json = bodyNeeded && body.text !== undefined ? readStrictJson(body.text) : undefined;
  return {
    rule,
    bindings: json?.ok === true && bindings.request !== undefined ? { ...bindings, request: { ...bindings.request, body: json.value } } : bindings,
    secrets,
    sinkOf,
    mint: async (credential, provider) => ({ value: standIns.credential(credential, provider), secrets: [] }),
    limits,
  };
}
