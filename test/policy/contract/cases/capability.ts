import type { Area } from '../support/area.ts';
import { capabilityWith, countersWith, headersOnly, transformsWith } from '../support/documents.ts';

const allow = 'allow: [{domains: [api.example.com], methods: [GET]}]';

export const capability: Area = {
  section: '2.7 Capability',
  sentences: [
    {
      quote: 'name: string, required',
      accepted: { 'a name': capabilityWith('name: demo') },
      rejected: {
        'missing': `- ‹missing_field›type: http\n  ${allow}\n`,
        'a number': capabilityWith('name: ‹wrong_type›12'),
        'null': capabilityWith('name: ‹wrong_type›null'),
        'a list': capabilityWith('name: ‹wrong_type›[demo]'),
      },
    },
    {
      quote: 'name: unique in the document',
      accepted: { 'different names': capabilityWith('name: one') + capabilityWith('name: two'), 'names that differ by case': capabilityWith('name: one') + capabilityWith('name: One') },
      rejected: {
        'the second of two': capabilityWith('name: one') + capabilityWith('name: ‹duplicate_name›one'),
        'the second and third of three': capabilityWith('name: one') + capabilityWith('name: ‹duplicate_name›one') + capabilityWith('name: ‹duplicate_name›one'),
      },
    },
    {
      quote: 'type: string, required, only `http`',
      accepted: { 'http': capabilityWith('type: http') },
      rejected: {
        'missing': `- ‹missing_field›name: demo\n  ${allow}\n`,
        'another type': capabilityWith('type: ‹invalid_enum›dns'),
        'capitals': capabilityWith('type: ‹invalid_enum›HTTP'),
        'empty': capabilityWith('type: ‹invalid_enum›""'),
        'a boolean': capabilityWith('type: ‹wrong_type›true'),
      },
    },
    {
      quote: 'allow: AllowRule list, required',
      accepted: { 'one rule': capabilityWith(allow), 'two rules': capabilityWith('allow:\n  - {name: one, domains: [a.example.com], methods: [GET]}\n  - {name: two, domains: [b.example.com], methods: [GET]}') },
      rejected: {
        'missing': '- ‹missing_field›name: demo\n  type: http\n',
        'a map': capabilityWith('allow: ‹wrong_type›{domains: [api.example.com], methods: [GET]}'),
        'a rule that is a text': capabilityWith('allow: [‹wrong_type›api.example.com]'),
        'null': capabilityWith('allow: ‹wrong_type›null'),
      },
    },
    {
      quote: 'allow: at least one',
      accepted: { 'one rule': capabilityWith(allow) },
      rejected: { 'none': capabilityWith('allow: ‹empty_list›[]') },
    },
    {
      quote: 'transforms: TransformRule list, not required',
      accepted: {
        'absent': capabilityWith('name: demo'),
        'empty': capabilityWith('name: demo\ntransforms: []'),
        'one': transformsWith('header: {name: x-demo, action: remove}'),
      },
      rejected: {
        'a map': capabilityWith('name: demo\ntransforms: ‹wrong_type›{header: {name: x-demo, action: remove}}'),
        'null': capabilityWith('name: demo\ntransforms: ‹wrong_type›null'),
        'a transform that is a text': transformsWith('‹wrong_type›x-demo'),
      },
    },
    {
      quote: 'transforms: fire on allowed requests',
      oneSided: 'tells when they run; the transforms that a decision carries are tested where decisions are compiled',
      accepted: { 'a transform without a target': transformsWith('header: {name: x-demo, action: remove}') },
    },
    {
      quote: 'budgets: object with `counters` (list of counters), zero or more',
      accepted: {
        'absent': capabilityWith('name: demo'),
        'no counter': capabilityWith('name: demo\nbudgets: {counters: []}'),
        'one counter': countersWith(headersOnly),
        'two counters': countersWith(headersOnly, headersOnly.replace('calls', 'others')),
        'an object without counters': capabilityWith('name: demo\nbudgets: {}'),
      },
      rejected: {
        'a list': capabilityWith('name: demo\nbudgets: ‹wrong_type›[]'),
        'counters as a map': capabilityWith('name: demo\nbudgets: {counters: ‹wrong_type›{name: calls}}'),
        'a counter that is a text': capabilityWith('name: demo\nbudgets: {counters: [‹wrong_type›calls]}'),
        'a field beside counters': capabilityWith('name: demo\nbudgets: {counters: [], ‹unknown_field›limits: []}'),
        'null': capabilityWith('name: demo\nbudgets: ‹wrong_type›null'),
      },
    },
    {
      quote: 'Capability: no other fields',
      accepted: { 'all fields': capabilityWith('name: demo\ntransforms: []\nbudgets: {counters: []}') },
      rejected: {
        'a misspelt field': capabilityWith('name: demo\n‹unknown_field›transform: []'),
        'a foreign field': capabilityWith('name: demo\n‹unknown_field›description: text'),
        'a field with another case': capabilityWith('name: demo\n‹unknown_field›Budgets: {}'),
        'a name that every object has': capabilityWith('name: demo\n‹unknown_field›constructor: {}'),
        'the prototype': capabilityWith('name: demo\n‹unknown_field›__proto__: {}'),
      },
    },
  ],
};
