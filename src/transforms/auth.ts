import type { TransformVariant } from '../policy/model.ts';
import type { OutgoingRequest, Sink, TransformDeps, TransformFailure } from './contract.ts';
import { isHeaderValue, withoutHeader } from './header.ts';
import { withParameter, withoutParameter } from './query.ts';

type AuthVariant = Extract<TransformVariant, { readonly kind: 'auth' }>;
type AuthOutcome = { readonly request: OutgoingRequest; readonly secrets: readonly string[] } | { readonly request: OutgoingRequest; readonly failed: TransformFailure };

/**
 * Puts a minted token where its provider takes it. What the agent sent there is removed first, whatever the mint gives: a failed mint must
 * not let the agent's own credential through. Nothing is minted for plain http, and nothing for methods that answer with what they got.
 */
export async function applyAuth(request: OutgoingRequest, { credential, provider }: AuthVariant, deps: TransformDeps): Promise<AuthOutcome> {
  const sink = deps.sinkOf(provider);
  const bare = emptied(request, sink);
  if (request.scheme !== 'https' || request.method === 'OPTIONS' || request.method === 'TRACE') return { request: bare, failed: 'auth_unavailable' };
  const minted = await deps.mint(credential, provider);
  if (minted === undefined || (sink.kind === 'header' && !isHeaderValue(minted.value))) return { request: bare, failed: 'auth_unavailable' };
  return { request: filled(bare, sink, minted.value), secrets: minted.secrets };
}

function emptied(request: OutgoingRequest, sink: Sink): OutgoingRequest {
  if (sink.kind === 'header') return { ...request, headers: withoutHeader(request.headers, sink.name) };
  return { ...request, rawQuery: withoutParameter(request.rawQuery, sink.name) };
}

function filled(request: OutgoingRequest, sink: Sink, value: string): OutgoingRequest {
  if (sink.kind === 'header') return { ...request, headers: [...request.headers, [sink.name, value]] };
  return { ...request, rawQuery: withParameter(request.rawQuery, sink.name, value) };
}
