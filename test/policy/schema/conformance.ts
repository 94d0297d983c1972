import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../../src/kernel/json.ts';
import { compileSchema } from '../../../src/policy/schema/compile-schema.ts';
import { caseExceptions, refusedSchemas } from './conformance-exceptions.ts';

const directory = join(import.meta.dirname, '../../fixtures/json-schema-draft2020-12');

type Group = { readonly description: string; readonly schema: unknown; readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[] };

/** `refused`: the schema is one that the gate takes for no policy, for a written reason. */
type Outcome = 'passed' | 'refused' | 'exception' | 'failed';
export type SchemaCaseResult = { readonly id: string; readonly file: string; readonly outcome: Outcome; readonly detail: string };
export type SchemaFigures = { readonly file: string; readonly run: number; readonly passed: number; readonly refused: number; readonly exceptions: number; readonly failed: number };

/** All required cases of the official suite, through the same door as a policy's schemas. */
export function schemaConformanceResults(): readonly SchemaCaseResult[] {
  return readdirSync(directory).filter((name) => name.endsWith('.json')).sort().flatMap((name) => {
    const file = name.replace('.json', '');
    return (parseJson(readFileSync(join(directory, name), 'utf8')) as Group[]).flatMap((group) => groupResults(file, group));
  });
}

function groupResults(file: string, { description, schema, tests }: Group): readonly SchemaCaseResult[] {
  const group = `${file}/${description}`;
  const compiled = compileSchema(schema);
  const known = refusedSchemas.get(group);
  return tests.map((test) => {
    const id = `${group}/${test.description}`;
    if ('problems' in compiled) {
      const slugs = [...new Set(compiled.problems.map(({ slug }) => slug))].sort().join(' ');
      return { id, file, outcome: known === slugs ? 'refused' : 'failed', detail: `refused: ${slugs}` };
    }
    const good = (compiled.schema.validate(test.data).length === 0) === test.valid && known === undefined;
    return { id, file, outcome: outcomeOf(good, caseExceptions.has(id)), detail: known === undefined ? `should be ${test.valid ? 'valid' : 'invalid'}` : 'listed as refused, and is not' };
  });
}

/** An exception that passes is a failure of the list. */
function outcomeOf(good: boolean, exception: boolean): Outcome {
  if (good) return exception ? 'failed' : 'passed';
  return exception ? 'exception' : 'failed';
}

/** For `npm run conformance`. */
export function schemaFigures(results: readonly SchemaCaseResult[]): readonly SchemaFigures[] {
  return [...new Set(results.map(({ file }) => file))].map((file) => {
    const own = results.filter((result) => result.file === file);
    const count = (outcome: Outcome): number => own.filter((result) => result.outcome === outcome).length;
    return { file, run: own.length, passed: count('passed'), refused: count('refused'), exceptions: count('exception'), failed: count('failed') };
  });
}
