import type { Area } from '../support/area.ts';
import { capabilityWith, transformsWith } from '../support/documents.ts';

const remove = 'header: {name: x-demo, action: remove}';
const variants = {
  header: '{name: x-demo, action: remove}',
  path: `{action: prefix, value: '"/v1"'}`,
  query: '{action: remove, key: demo}',
  body: `{action: merge, value: '{"a": 1}'}`,
  auth: '{credential: demo, provider: github}',
};

export const transforms: Area = {
  section: '2.7 TransformRule',
  sentences: [
    {
      quote: 'Exactly one of `header`, `path`, `query`, `body`, `auth` per transform',
      accepted: Object.fromEntries(Object.entries(variants).map(([kind, variant]) => [kind, transformsWith(`applies_to: [untyped]\n${kind}: ${variant}`)])),
      rejected: {
        'none': transformsWith('‹transform_no_variant›name: empty'),
        'two': transformsWith(`‹transform_many_variants›${remove}\nquery: ${variants.query}`),
        'header and auth': transformsWith(`‹transform_many_variants›auth: ${variants.auth}\n${remove}`),
        'all': transformsWith(`‹transform_many_variants›applies_to: [untyped]\n${Object.entries(variants).map(([kind, variant]) => `${kind}: ${variant}`).join('\n')}`),
        'a variant that is a text': transformsWith('header: ‹wrong_type›x-demo'),
        'a variant that is null': transformsWith('header: ‹wrong_type›null'),
      },
    },
    {
      quote: 'name: string, not required; used for audit attribution',
      accepted: { 'a name': transformsWith(`name: demo\n${remove}`), 'absent': transformsWith(remove) },
      rejected: { 'a number': transformsWith(`name: ‹wrong_type›1\n${remove}`), 'against the identifier rule': transformsWith(`name: ‹invalid_identifier›a.b\n${remove}`) },
    },
    {
      quote: 'direction: `""` (means request) or `request`',
      accepted: { 'empty': transformsWith(`direction: ""\n${remove}`), 'request': transformsWith(`direction: request\n${remove}`), 'absent': transformsWith(remove) },
      rejected: { 'another word': transformsWith(`direction: ‹invalid_enum›both\n${remove}`), 'capitals': transformsWith(`direction: ‹invalid_enum›Request\n${remove}`), 'a boolean': transformsWith(`direction: ‹wrong_type›true\n${remove}`) },
    },
    {
      quote: 'direction: `response` is rejected at save',
      accepted: { 'request': transformsWith(`direction: request\n${remove}`) },
      rejected: { 'response': transformsWith(`direction: ‹transform_direction_response›response\n${remove}`) },
    },
    {
      quote: 'applies_to: names of allow rules; each must match a named rule',
      accepted: { 'one': transformsWith(`applies_to: [plain]\n${remove}`), 'two': transformsWith(`applies_to: [plain, typed]\n${remove}`) },
      rejected: {
        'an unknown name': transformsWith(`applies_to: [‹applies_to_unknown›plane]\n${remove}`),
        'each of two': transformsWith(`applies_to: [‹applies_to_unknown›a, plain, ‹applies_to_unknown›b]\n${remove}`),
        'another case': transformsWith(`applies_to: [‹applies_to_unknown›Plain]\n${remove}`),
        'a rule of another capability': capabilityWith('name: first\nallow: [{name: other, domains: [api.example.com], methods: [GET]}]') + capabilityWith(`name: second\ntransforms:\n  - applies_to: [‹applies_to_unknown›other]\n    ${remove}`),
        'a number': transformsWith(`applies_to: [‹wrong_type›1]\n${remove}`),
        'a text': transformsWith(`applies_to: ‹wrong_type›plain\n${remove}`),
      },
    },
    {
      quote: 'applies_to: empty means all rules',
      accepted: { 'empty': transformsWith(`applies_to: []\n${remove}`), 'absent': transformsWith(remove) },
      rejected: { 'all rules, one of which has no format': transformsWith(`applies_to: []\nbody: ‹request_format_required›${variants.body}`) },
    },
    {
      quote: 'requires_body: for header, path and query variants: makes `request.body` available',
      accepted: {
        'header': transformsWith('applies_to: [typed]\nrequires_body: true\nheader: {name: x-model, action: set, value: request.body.model}'),
        'path': transformsWith(`applies_to: [typed]\nrequires_body: true\npath: {action: prefix, value: '"/" + request.body.model'}`),
        'query': transformsWith('applies_to: [typed]\nrequires_body: true\nquery: {action: set, key: model, value: request.body.model}'),
      },
      rejected: {
        'header without it': transformsWith('applies_to: [typed]\nheader: {name: x-model, action: set, value: ‹undeclared_reference|undeclared reference: request.body›request.body.model}'),
        'path without it': transformsWith(`applies_to: [typed]\npath: {action: prefix, value: '"/" + ‹undeclared_reference|undeclared reference: request.body›request.body.model'}`),
        'query without it': transformsWith('applies_to: [typed]\nrequires_body: false\nquery: {action: set, key: model, value: ‹undeclared_reference|undeclared reference: request.body›request.body.model}'),
        'a text': transformsWith(`requires_body: ‹wrong_type›"true"\n${remove}`),
      },
    },
    {
      quote: 'requires_body: makes `request.body` available (CEL environments: with schema)',
      accepted: { 'a rule with a schema': transformsWith('applies_to: [typed]\nrequires_body: true\nheader: {name: x-model, action: set, value: request.body.model}') },
      rejected: {
        'a rule without one': transformsWith('applies_to: [untyped]\nrequires_body: true\nheader: {name: x-model, action: set, value: ‹undeclared_reference|undeclared reference: request.body›request.body.model}'),
        'one of two rules without one': transformsWith('applies_to: [typed, untyped]\nrequires_body: true\nheader: {name: x-model, action: set, value: ‹undeclared_reference|undeclared reference: request.body›request.body.model}'),
        'a field that the schema does not have': transformsWith('applies_to: [typed]\nrequires_body: true\nheader: {name: x-model, action: set, value: ‹undeclared_reference|undeclared reference: request.body.modle›request.body.modle}'),
        'a field of another type': transformsWith('applies_to: [typed]\nrequires_body: true\nheader: {name: x-size, action: set, value: ‹cel_result_type›request.body.size}'),
        'a rule without a format': transformsWith(`applies_to: [plain]\nrequires_body: ‹request_format_required›true\nheader: {name: x-demo, action: set, value: '"a"'}`),
      },
    },
    {
      quote: 'requires_body: body variants set it implicitly',
      accepted: {
        'absent': transformsWith('applies_to: [untyped]\nbody: {action: prefix, key: text, value: request.body.text}'),
        'true': transformsWith('applies_to: [untyped]\nrequires_body: true\nbody: {action: prefix, key: text, value: request.body.text}'),
      },
      rejected: { 'a text': transformsWith(`applies_to: [untyped]\nrequires_body: ‹wrong_type›"true"\nbody: ${variants.body}`) },
    },
    {
      quote: 'requires_body: rejected on auth variants',
      accepted: { 'absent': transformsWith(`auth: ${variants.auth}`) },
      rejected: { 'true': transformsWith(`‹requires_body_not_allowed›requires_body: true\nauth: ${variants.auth}`) },
    },
    {
      quote: 'TransformRule: no other fields',
      accepted: { 'all fields of one': transformsWith(`name: demo\ndirection: request\napplies_to: [typed]\nrequires_body: true\n${remove}`) },
      rejected: { 'a misspelt one': transformsWith(`‹unknown_field›apply_to: [typed]\n${remove}`), 'a variant that does not exist': transformsWith(`‹unknown_field›cookie: {name: a}\n${remove}`) },
    },
  ],
};
