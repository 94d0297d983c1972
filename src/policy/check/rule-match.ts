import type { AllowRule } from '../model.ts';
import type { Reporter } from '../problem.ts';
import type { CompiledSchema } from '../schema/contract.ts';
import { compileExpression } from './expression.ts';
import { openFields } from './fields.ts';
import type { DocumentNode } from '../document/node.ts';

/** What is known of a rule's schema when its match is compiled. `broken`: there is one, with problems of its own. */
export type SchemaOfRule = CompiledSchema | 'broken' | undefined;

/** `match` of an allow rule (contract 2.7). Undefined when wrong. */
export function checkMatch(node: DocumentNode, schema: SchemaOfRule, reporter: Reporter): AllowRule['match'] {
  const fields = openFields(node, 'match', { expr: 'string', requires_body: 'boolean' }, reporter);
  if (fields === undefined) return undefined;
  fields.needs('expr');
  const expr = fields.string('expr');
  const requiresBody = fields.has('requires_body') ? fields.boolean('requires_body') : false;
  if (expr === undefined || requiresBody === undefined) return undefined;
  const requestBody = !requiresBody ? 'absent' : schema === undefined || schema === 'broken' ? 'dyn' : { schema: schema.source };
  const options = { phase: requiresBody ? 'match_body' : 'match_admission', result: 'bool', requestBody } as const;
  const program = compileExpression(expr, options, reporter, { 'request.body': 'set requires_body: true' });
  return program === undefined ? undefined : Object.freeze({ program, requiresBody });
}
