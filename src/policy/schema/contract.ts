/** What the rest of the engine knows of JSON Schema (contract 2.7, `request_schema`). */

export type SchemaProblem = {
  readonly slug: 'schema_invalid' | 'schema_external_ref' | 'schema_unsupported' | 'schema_too_complex' | 'schema_invalid_regex' | 'schema_unknown_draft';
  readonly message: string;
  readonly hint?: string;
  /** Keys and indexes from the schema's root to the place, for the position in the document. */
  readonly at: readonly (string | number)[];
};

/** One violation in a body. `instancePath` is a JSON pointer into the body; the text holds no value of the body. */
export type SchemaViolation = { readonly instancePath: string; readonly keyword: string; readonly message: string };

export type CompiledSchema = {
  /** The schema as a plain JSON value; identical documents share one compiled schema. */
  readonly source: unknown;
  readonly draft: '2020-12' | '2019-09' | '07' | '06';
  /** Empty when the body is valid. A validator that overflows (`{"$ref":"#"}`) reports a violation, it never throws. Bounded in number. */
  validate(body: unknown): readonly SchemaViolation[];
};
