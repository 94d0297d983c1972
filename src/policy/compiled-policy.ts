import type { AllowRule, Counter, Policy, Transform } from './model.ts';
import type { SchemaViolation } from './schema/contract.ts';

/** One canonical request as the policy sees it. Nothing is decoded: `path` and `rawQuery` are the bytes on the wire. */
export type PolicyRequest = {
  readonly method: string;
  readonly scheme: 'http' | 'https';
  /** Lower case, without port and trailing dot; IPv6 in RFC 5952 form without brackets. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly rawQuery: string;
  /** Lower-case names, repeated headers joined with `,`. */
  readonly headers: ReadonlyMap<string, string>;
  /** Whether the request announces a body (a length above 0, or chunked). */
  readonly hasBody: boolean;
  readonly workspace: { readonly id: string; readonly orgId: string; readonly role: string; readonly environment: string };
  readonly task: { readonly id: string };
};

/**
 * The checks of a rule in the order they run; a rule further down this list got further. `body_unavailable` is a GET or HEAD that a
 * body-inspecting rule cannot judge (contract 2.7, warning 2).
 */
export const ruleChecks = [
  'domain',
  'port',
  'scheme',
  'method',
  'path',
  'match',
  'match_error',
  'body_unavailable',
  'request_format',
  'request_json',
  'request_schema',
  'body_match',
  'body_match_error',
] as const;
export type RuleCheck = (typeof ruleChecks)[number];

/** Why one rule did not win. `violations` holds places and keywords of the schema, never values of the body. */
export type RuleFailure = { readonly rule: AllowRule; readonly check: RuleCheck; readonly violations?: readonly SchemaViolation[] };

/** The deny reasons (contract 6.3) that a policy itself can give. */
export type PolicyDenyReason = 'policy_error' | 'policy_empty' | 'policy_type_error' | 'no_match' | 'invalid_json' | 'format_mismatch' | 'schema_violation';

export type Allowed = {
  readonly kind: 'allowed';
  readonly rule: AllowRule;
  readonly failures: readonly RuleFailure[];
  /** What was checked beyond the static criteria, in order, for `validations_applied`. */
  readonly validations: readonly ('match' | 'request_format' | 'request_schema' | 'body_match')[];
  /** Transforms of the rule's capability that apply to it, in document order. */
  readonly transforms: readonly Transform[];
  readonly counters: readonly Counter[];
  /** A transform reads or changes the body, so it has to be buffered. */
  readonly bodyNeeded: boolean;
};

export type Denied = { readonly kind: 'denied'; readonly reason: PolicyDenyReason; readonly failures: readonly RuleFailure[] };

/** Some candidate before the first certain winner has to see the body: read it, then call `decideBody`. */
export type BodyPending = {
  readonly kind: 'body_needed';
  readonly candidates: readonly AllowRule[];
  readonly failures: readonly RuleFailure[];
  /** The same failures as the policy keeps them until the body is there. */
  readonly earlier: readonly (RuleFailure & { readonly code?: 'eval_error' | 'type_mismatch' | 'budget' | undefined })[];
};

export type Admission = Allowed | Denied | BodyPending;

/** A whole buffered body; `text` undefined where it is not UTF-8 or is compressed, '' where there is none. */
export type PolicyBody = { readonly contentType: string | undefined; readonly text: string | undefined };

/**
 * An immutable policy, shared by all requests of all workspaces that have the same text. Candidates are ordered by (capability name, rule
 * name, position); the first that passes all its checks wins. When none does, the reason is that of the rule that got furthest.
 * Failures list the rules whose host matched; `explainAll` adds the others.
 */
export type CompiledPolicy = {
  readonly document: Policy;
  /** Rules in the order they are tried. */
  readonly rules: readonly AllowRule[];
  admit(request: PolicyRequest): Admission;
  decideBody(pending: BodyPending, request: PolicyRequest, body: PolicyBody): Allowed | Denied;
  /** Every rule with its failure, also those of other hosts; `undefined` for rules that pass. Slow: for people, not for requests. */
  explainAll(request: PolicyRequest, body: PolicyBody | undefined): readonly { readonly rule: AllowRule; readonly failed: RuleFailure | undefined }[];
  /** Host patterns that a name may be resolved for (contract 6.3, DNS). */
  admitsHost(host: string): boolean;
  readonly secretKeys: readonly string[];
  readonly credentials: readonly string[];
};
