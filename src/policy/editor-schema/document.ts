import { allowRuleSchema } from './allow-rule.ts';
import { counterSchema } from './counter.ts';
import type { JsonSchema } from './json-schema.ts';
import { fieldsSchema, identifierSchema } from './json-schema.ts';
import { transformSchema } from './transform.ts';

const capability = fieldsSchema('A set of outbound calls that belong together, with what is changed and counted about them', ['name', 'type', 'allow'], {
  name: identifierSchema('Unique in the document'),
  type: { description: 'Only http', const: 'http' },
  allow: { description: 'Requests to admit; any of the rules will do', type: 'array', minItems: 1, items: { $ref: '#/$defs/allow_rule' } },
  transforms: { description: 'Changes to admitted requests, applied in this order', type: 'array', items: { $ref: '#/$defs/transform' } },
  budgets: fieldsSchema('Quotas', [], { counters: { description: 'Each counts every request that the capability admits', type: 'array', items: { $ref: '#/$defs/counter' } } }),
});

/**
 * JSON Schema of `caps.yaml` (contract 2.7) for editors: completion, descriptions, and as much checking as JSON Schema can say. It never
 * rejects what the policy engine accepts; CEL, cross-references and cross-counter rules are the engine's alone.
 */
export const editorSchema: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Customhouse capability policy (caps.yaml)',
  description: 'Which outbound calls an agent may make, what is rewritten on the way out, and how usage is counted',
  type: 'array',
  items: { $ref: '#/$defs/capability' },
  $defs: { capability, allow_rule: allowRuleSchema, transform: transformSchema, counter: counterSchema },
};
