import type { PolicyDenyReason, RuleCheck } from '../../../policy/compiled-policy.ts';
import type { Position } from '../../../policy/document/node.ts';
import type { TransformFailure } from '../../../transforms/contract.ts';
import type { DescribedRequest } from '../explain/described-request.ts';

/** One row of a table of requests. What `expect` does not name is not looked at. */
export type PolicyCase = { readonly name: string; readonly position: Position | undefined; readonly request: DescribedRequest; readonly expect: Expectation };

export type Expectation =
  | {
    readonly decision: 'deny';
    readonly reason: PolicyDenyReason | undefined;
    /** Where the rule that got furthest stops. */
    readonly check: RuleCheck | undefined;
    /** Why the proxy turns the request away before any rule is looked at. */
    readonly refused: string | undefined;
  }
  | {
    readonly decision: 'allow';
    readonly capability: string | undefined;
    readonly rule: string | undefined;
    readonly sent: SentExpectation;
    /** All that fail, by transform id: {} says that none does. */
    readonly transformsFailed: ReadonlyMap<string, TransformFailure> | undefined;
    /** What is taken at admission, by counter name; others are not looked at. */
    readonly counters: ReadonlyMap<string, bigint>;
  };

/** The request as it leaves. Secrets stand there as «secret:NAME», credentials as «credential:NAME». */
export type SentExpectation = {
  readonly path: string | undefined;
  /** Raw, without `?`. */
  readonly query: string | undefined;
  /** By lower-case name, in order; none for a header that must not be there. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** As text, or as a JSON value, whose spelling does not matter. */
  readonly body: { readonly text: string } | { readonly json: unknown } | undefined;
};

export const denyReasons = ['policy_error', 'policy_empty', 'policy_type_error', 'no_match', 'invalid_json', 'format_mismatch', 'schema_violation'] as const satisfies readonly PolicyDenyReason[];
