import type { CelBindings } from '../policy/cel/contract.ts';
import type { AuthProvider } from '../kernel/auth-providers.ts';
import type { AllowRule, Transform } from '../policy/model.ts';

/** A header as it goes out: the name in the case the agent (or the transform) gave it. */
export type HeaderField = readonly [name: string, value: string];

/** A body as transforms see it. A streamed one cannot be read or changed. */
export type OutgoingBody = { readonly kind: 'none' } | { readonly kind: 'stream' } | { readonly kind: 'buffered'; readonly text: string };

/** The request on its way out: decided, its hop-by-hop headers removed. Immutable; each transform makes the next one. */
export type OutgoingRequest = {
  readonly method: string;
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** Raw path, always starting with `/`. */
  readonly path: string;
  /** Without `?`; '' for none. */
  readonly rawQuery: string;
  readonly headers: readonly HeaderField[];
  readonly body: OutgoingBody;
};

/** Where a provider takes its token (contract 2.7, auth variant): fixed per provider. */
export type Sink = { readonly kind: 'header'; readonly name: string } | { readonly kind: 'query'; readonly name: string };

/** A minted token in the form its sink takes. `secrets` are the texts that must be scrubbed from the response. */
export type Minted = { readonly value: string; readonly secrets: readonly string[] };

/** Contract 6.4. */
export type TransformFailure = 'compile_error' | 'eval_error' | 'type_mismatch' | 'apply_error' | 'body_absent' | 'auth_unavailable';

export type TransformDeps = {
  readonly rule: AllowRule;
  readonly bindings: CelBindings;
  /** Secrets resolved when the workspace was activated; undefined for one that could not be. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly sinkOf: (provider: AuthProvider) => Sink;
  /** Undefined when the broker could not mint, for whatever reason. */
  readonly mint: (credential: string, provider: AuthProvider) => Promise<Minted | undefined>;
  readonly limits: { readonly headerBytesMax: number; readonly bodyBytesMax: number; readonly targetBytesMax: number };
};

export type TransformOutcome = {
  readonly request: OutgoingRequest;
  readonly applied: number;
  /** By transform id. */
  readonly failed: ReadonlyMap<string, TransformFailure>;
  /** Names of credentials whose mint succeeded, each once. */
  readonly authUsed: readonly string[];
  readonly authFailures: ReadonlyMap<string, TransformFailure>;
  /** Secret texts that went into the request: reflections of them are scrubbed from the response. */
  readonly secretsSent: readonly string[];
};

export type ApplyTransforms = (request: OutgoingRequest, transforms: readonly Transform[], deps: TransformDeps) => Promise<TransformOutcome>;
