import type { ErrorObject, ValidateFunction } from 'ajv';
import type { CompiledSchema, SchemaProblem, SchemaViolation } from './contract.ts';
import type { Draft } from './drafts.ts';
import { StepsExceeded, ajvOf, draftOf, resetSteps, uriOf } from './drafts.ts';
import { gate } from './gate.ts';
import { isObject } from './object.ts';
import { prepare } from './prepare.ts';

export type SchemaCompiled = { readonly schema: CompiledSchema } | { readonly problems: readonly SchemaProblem[] };

const cacheEntriesMax = 500;
const cache = new Map<string, CompiledSchema>();
const violationsMax = 20;
let compilations = 0;
const pathCharactersMax = 256;

/** A `request_schema` (contract 2.7) as a plain JSON value to a validator, or everything wrong with it. Never throws. */
export function compileSchema(schema: unknown): SchemaCompiled {
  if (!isObject(schema) && typeof schema !== 'boolean') return refused('schema_invalid', [], 'a schema is a map, true or false');
  const key = keyOf(schema);
  if (key === undefined) return refused('schema_too_complex', [], 'the schema is too deep');
  const known = cache.get(key);
  if (known !== undefined) return { schema: known };
  const draft = draftOf(isObject(schema) ? schema['$schema'] : undefined);
  if (draft === undefined) return refused('schema_unknown_draft', ['$schema'], 'the $schema is not a supported draft', 'drafts 2020-12 (the default), 2019-09, 07 and 06');
  const problems = gate(schema);
  if (problems.length > 0) return { problems };
  const compiled = compileWith(draft, schema);
  if ('problems' in compiled) return compiled;
  const [oldest] = cache.keys();
  if (cache.size >= cacheEntriesMax && oldest !== undefined) cache.delete(oldest);
  cache.set(key, compiled.schema);
  return compiled;
}

/** Undefined for values nested deeper than the stack: the gate does not look into `const` and `enum`. */
function keyOf(schema: unknown): string | undefined {
  try {
    return JSON.stringify(schema);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function refused(slug: SchemaProblem['slug'], at: SchemaProblem['at'], message: string, hint?: string): SchemaCompiled {
  return { problems: [{ slug, at, message, ...(hint === undefined ? {} : { hint }) }] };
}

function compileWith(draft: Draft, source: object | boolean): SchemaCompiled {
  const ajv = ajvOf(draft);
  try {
    const standard = isObject(source) ? { ...source, $schema: uriOf(draft) } : source;
    if (ajv.validateSchema(standard) !== true) {
      const [error] = ajv.errors ?? [];
      return refused('schema_invalid', pointerParts(error?.instancePath ?? ''), `not a valid JSON Schema: ${error?.message ?? 'it breaks its draft'}`);
    }
    // A copy, as steps are counted inside of it. Without an $id Ajv does not find `#`; the author's own could be another policy's, too.
    const counted = structuredClone(standard);
    prepare(counted, isObject(counted) ? counted['$anchor'] : undefined);
    compilations += 1;
    if (isObject(counted)) counted['$id'] = `schema://customhouse/${compilations}`;
    const validate = ajv.compile(counted);
    if (isObject(counted)) ajv.removeSchema(counted);
    return { schema: Object.freeze({ source, draft, validate: (body: unknown) => run(validate, body) }) };
  } catch (error) {
    // Ajv throws for references that lead nowhere and for what overflows its compiler.
    if (error instanceof RangeError) return refused('schema_too_complex', [], 'the schema is too deep to compile');
    return refused('schema_invalid', [], error instanceof Error ? error.message.slice(0, 200) : 'the schema does not compile');
  }
}

function run(validate: ValidateFunction, body: unknown): readonly SchemaViolation[] {
  resetSteps();
  try {
    return validate(body) ? [] : (validate.errors ?? []).slice(0, violationsMax).map(violation);
  } catch (error) {
    if (error instanceof StepsExceeded) return [{ instancePath: '', keyword: '$ref', message: 'the schema takes too many steps for this body' }];
    if (error instanceof RangeError) return [{ instancePath: '', keyword: '$ref', message: 'the schema recurses without end' }];
    throw error;
  }
}

/** Ajv's texts name keywords, limits and names of the schema, never values of the body; only the path holds names of the body. */
function violation({ instancePath, keyword, message }: ErrorObject): SchemaViolation {
  return { instancePath: instancePath.slice(0, pathCharactersMax), keyword, message: (message ?? 'does not match').slice(0, pathCharactersMax) };
}

function pointerParts(pointer: string): readonly string[] {
  return pointer.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}
