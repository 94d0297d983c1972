/**
 * What the rest of the policy engine and the proxy know of CEL (contract 2.7 "CEL environments"): phases, bindings, programs, problems.
 */

/** One column set of the contract's availability table. */
export type CelPhase =
  | 'match_admission'
  | 'match_body'
  | 'header'
  | 'query'
  | 'path'
  | 'body'
  | 'counter_headers'
  | 'counter_document'
  | 'counter_sse'
  | 'terminal';

/** What a place in the document wants an expression to produce; `dyn` results are accepted at save and checked again at run time. */
export type CelResult = 'bool' | 'string' | 'integer' | 'string_map';

export type CelOptions = {
  readonly phase: CelPhase;
  readonly result: CelResult;
  /** How `request.body` (or, for `counter_document`, nothing) is seen: not at all, untyped, or typed by a JSON Schema (a plain JSON value that passed the gate). */
  readonly requestBody: 'absent' | 'dyn' | { readonly schema: unknown };
};

export type CelProblemSlug =
  | 'cel_syntax'
  | 'cel_too_complex'
  | 'undeclared_reference'
  | 'cel_type'
  | 'cel_result_type'
  | 'cel_invalid_regex'
  | 'cel_integer_range'
  | 'secret_key_not_literal';

export type CelProblem = {
  readonly slug: CelProblemSlug;
  readonly message: string;
  readonly hint?: string;
  /** UTF-16 units from the start of the expression, from 0. */
  readonly offset: number;
};

/** Values a program may read. Only what the phase declares is looked at. Bodies and events are JSON as `kernel/json.ts` reads it. */
export type CelBindings = {
  readonly request?: {
    readonly method: string;
    readonly path: string;
    readonly host: string;
    readonly scheme: string;
    /** Lower-case names; repeated headers joined with `,`. */
    readonly headers: ReadonlyMap<string, string>;
    readonly rawQuery: string;
    readonly query: ReadonlyMap<string, readonly string[]>;
    readonly body?: unknown;
  };
  readonly response?: {
    readonly status: number;
    readonly headers: ReadonlyMap<string, string>;
    readonly size: number;
    readonly body?: unknown;
  };
  readonly workspace?: { readonly id: string; readonly orgId: string; readonly role: string; readonly environment: string };
  readonly task?: { readonly id: string };
  readonly secrets?: ReadonlyMap<string, string>;
  readonly event?: unknown;
};

/** Never carries the library's text: that may hold values, also secret ones. `budget` is steps or time used up; it shows as `eval_error` in rows. */
export type CelFailure = { readonly ok: false; readonly code: 'eval_error' | 'type_mismatch' | 'budget' };

/** boolean, string, bigint (within int64) or a plain JSON map, as the program's `result` says. */
export type CelValueOf<R extends CelResult> = R extends 'bool' ? boolean : R extends 'string' ? string : R extends 'integer' ? bigint : Readonly<Record<string, unknown>>;

export type CelProgram<R extends CelResult = CelResult> = {
  readonly source: string;
  readonly phase: CelPhase;
  readonly result: R;
  readonly usesRequestBody: boolean;
  readonly usesResponseBody: boolean;
  /** Literal keys of `secrets[...]`, in order of first use, each once. */
  readonly secretKeys: readonly string[];
  /** The value when the expression is one string literal (the Accept-Encoding rule needs it). */
  readonly literal: string | undefined;
  evaluate(bindings: CelBindings): { readonly ok: true; readonly value: CelValueOf<R> } | CelFailure;
};

export type CelCompiled<R extends CelResult> = { readonly program: CelProgram<R> } | { readonly problems: readonly CelProblem[] };
