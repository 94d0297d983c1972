import { pathRefusal, queryRefusal } from '../kernel/raw-target.ts';
import type { CelProgram, CelValueOf } from '../policy/cel/contract.ts';
import type { Transform, TransformVariant, ValueFor } from '../policy/model.ts';
import { compileRe2 } from '../policy/re2.ts';
import { applyAuth } from './auth.ts';
import { mergeBody, prefixBody } from './body.ts';
import type { ApplyTransforms, OutgoingRequest, TransformDeps, TransformFailure } from './contract.ts';
import { headerBytes, isHeaderValue, isManaged, withoutHeader } from './header.ts';
import { withParameter, withoutParameter } from './query.ts';

type Applied = { readonly request: OutgoingRequest; readonly secrets?: readonly string[] } | { readonly failed: TransformFailure };
type Of<K extends TransformVariant['kind']> = Extract<TransformVariant, { readonly kind: K }>;

/**
 * Applies transforms in document order (contract 2.7, 6.4). A failing one leaves the request as it is and is recorded; the request goes
 * on. Expressions see the request as it was decided on, not what earlier transforms made of it.
 */
export const applyTransforms: ApplyTransforms = async (original, transforms, deps) => {
  let request = original;
  let applied = 0;
  const failed = new Map<string, TransformFailure>();
  const authFailures = new Map<string, TransformFailure>();
  const authUsed = new Set<string>();
  const secretsSent = new Set<string>();
  for (const transform of transforms) {
    const outcome = transform.variant.kind === 'auth' ? await applyAuth(request, transform.variant, deps) : applyOne(request, transform, deps);
    // Also a failed mint changes the request: the agent's own credential is gone from it.
    if ('request' in outcome) request = outcome.request;
    for (const secret of ('secrets' in outcome ? outcome.secrets : undefined) ?? []) secretsSent.add(secret);
    if ('failed' in outcome) {
      failed.set(transform.id, outcome.failed);
      if (transform.variant.kind === 'auth') authFailures.set(transform.variant.credential, outcome.failed);
    } else {
      applied += 1;
      if (transform.variant.kind === 'auth') authUsed.add(transform.variant.credential);
    }
  }
  return { request, applied, failed, authUsed: [...authUsed], authFailures, secretsSent: [...secretsSent] };
};

function applyOne(request: OutgoingRequest, { variant }: Transform, deps: TransformDeps): Applied {
  switch (variant.kind) {
    case 'header': return applyHeader(request, variant, deps);
    case 'path': return applyPath(request, variant, deps);
    case 'query': return applyQuery(request, variant, deps);
    case 'body': return applyBody(request, variant, deps);
    case 'auth': throw new Error('auth transforms are applied elsewhere');
  }
}

type Evaluated<R extends 'string' | 'string_map'> = { readonly value: CelValueOf<R>; readonly secrets: readonly string[] } | { readonly failed: TransformFailure };

function evaluate<R extends 'string' | 'string_map'>(value: ValueFor<R>, { rule, bindings, secrets }: TransformDeps): Evaluated<R> {
  const program = value(rule) as CelProgram<R> | undefined;
  if (program === undefined) return { failed: 'compile_error' };
  const used = program.secretKeys.map((key) => secrets.get(key));
  if (used.includes(undefined)) return { failed: 'apply_error' };
  const result = program.evaluate({ ...bindings, secrets });
  if (!result.ok) return { failed: result.code === 'type_mismatch' ? 'type_mismatch' : 'eval_error' };
  return { value: result.value, secrets: used.filter((secret) => secret !== undefined) };
}

function applyHeader(request: OutgoingRequest, variant: Of<'header'>, deps: TransformDeps): Applied {
  if (isManaged(variant.name)) return { failed: 'apply_error' };
  if (variant.action === 'remove') return { request: { ...request, headers: withoutHeader(request.headers, variant.name) } };
  const evaluated = evaluate(variant.value, deps);
  if ('failed' in evaluated) return evaluated;
  if (!isHeaderValue(evaluated.value)) return { failed: 'apply_error' };
  const kept = variant.action === 'set' ? withoutHeader(request.headers, variant.name) : request.headers;
  const headers = [...kept, [variant.name, evaluated.value] as const];
  if (headerBytes(headers) > deps.limits.headerBytesMax) return { failed: 'apply_error' };
  return { request: { ...request, headers }, secrets: evaluated.secrets };
}

function applyPath(request: OutgoingRequest, variant: Of<'path'>, deps: TransformDeps): Applied {
  const evaluated = evaluate(variant.value, deps);
  if ('failed' in evaluated) return evaluated;
  const path = variant.action === 'prefix' ? evaluated.value + request.path : replaced(request.path, variant.pattern, evaluated.value);
  // What a transform makes is held to the rules of what an agent may send.
  if (path === undefined || path.length > deps.limits.targetBytesMax || pathRefusal(path) !== undefined) return { failed: 'apply_error' };
  return { request: { ...request, path } };
}

function replaced(path: string, pattern: string, value: string): string | undefined {
  const compiled = compileRe2(pattern);
  return 're2' in compiled ? compiled.re2.replaceAll(path, value) : undefined;
}

function applyQuery(request: OutgoingRequest, variant: Of<'query'>, deps: TransformDeps): Applied {
  if (queryRefusal(request.rawQuery) !== undefined) return { failed: 'apply_error' };
  if (variant.action === 'remove') return { request: { ...request, rawQuery: withoutParameter(request.rawQuery, variant.key) } };
  const evaluated = evaluate(variant.value, deps);
  if ('failed' in evaluated) return evaluated;
  if (!evaluated.value.isWellFormed() || evaluated.value.includes('\u0000')) return { failed: 'apply_error' };
  const rawQuery = withParameter(request.rawQuery, variant.key, evaluated.value);
  if (rawQuery.length > deps.limits.targetBytesMax) return { failed: 'apply_error' };
  return { request: { ...request, rawQuery }, secrets: evaluated.secrets };
}

function applyBody(request: OutgoingRequest, variant: Of<'body'>, deps: TransformDeps): Applied {
  if (request.body.kind === 'none') return { failed: 'body_absent' };
  if (request.body.kind === 'stream') return { failed: 'apply_error' };
  const { text } = request.body;
  const evaluated = variant.action === 'merge' ? evaluate(variant.value, deps) : evaluate(variant.value, deps);
  if ('failed' in evaluated) return evaluated;
  const change = variant.action === 'merge'
    ? mergeBody(text, evaluated.value as CelValueOf<'string_map'>)
    : prefixBody(text, variant.key, evaluated.value as CelValueOf<'string'>);
  if ('failed' in change) return change;
  if (Buffer.byteLength(change.text) > deps.limits.bodyBytesMax) return { failed: 'apply_error' };
  return { request: { ...request, body: { kind: 'buffered', text: change.text } }, secrets: evaluated.secrets };
}
