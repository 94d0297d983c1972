import type { Area, Cases } from '../support/area.ts';
import { countersWith, headersOnly, ruleWith, single, sse, transformsWith } from '../support/documents.ts';

/** The groups of the contract's availability table and an expression of type bool over each variable of the first table. */
const variables = {
  'request': { 'request.method': 'request.method == "GET"', 'request.path': 'request.path.startsWith("/")', 'request.host': 'request.host == "a"', 'request.scheme': 'request.scheme == "https"', 'request.headers': 'request.headers["a"] == "b"', 'request.raw_query': 'request.raw_query == ""', 'request.query': 'request.query["a"][0] == "b"' },
  'response': { 'response.status': 'response.status == 200', 'response.headers': 'response.headers["a"] == "b"', 'response.size': 'response.size > 1' },
  'response.body': { 'response.body': 'response.body.a == 1' },
  'workspace/task': { 'workspace.id': 'workspace.id == "a"', 'workspace.org_id': 'workspace.org_id == "a"', 'workspace.role': 'workspace.role == "a"', 'workspace.environment': 'workspace.environment == "a"', 'task.id': 'task.id == "a"' },
  'secrets': { secrets: 'secrets["a"] == "b"' },
  'event': { event: 'event.a == 1' },
  'request.body': { 'request.body': 'request.body.model == "a"' },
} as const;
type Group = keyof typeof variables;

/** A document with an expression of type bool at the place of a phase. */
type Place = (expression: string) => string;

const quoted = (expression: string) => `'${expression}'`;
const post = 'methods: [POST]\nrequest_format: application/json\nrequest_schema: {type: object, properties: {model: {type: string}}}';
const text = (expression: string) => quoted(`(${expression}) ? "a" : "b"`);
const number = (expression: string) => quoted(`(${expression}) ? 1 : 2`);
const withValue = (base: string, expression: string) => base.replace(/^value: .*$/m, `value: ${number(expression)}`);

/** The availability table, row by row: what each phase sees. */
const phases: Readonly<Record<string, { readonly sees: readonly Group[]; readonly place: Place }>> = {
  'Allow match, admission': { sees: ['request', 'workspace/task'], place: (expression) => ruleWith(`${post}\nmatch: {expr: ${quoted(expression)}}`) },
  'Allow match, body': { sees: ['request', 'workspace/task', 'request.body'], place: (expression) => ruleWith(`${post}\nmatch: {requires_body: true, expr: ${quoted(expression)}}`) },
  'Header transform value': { sees: ['request', 'workspace/task', 'secrets'], place: (expression) => transformsWith(`header: {name: x-a, action: set, value: ${text(expression)}}`) },
  'Header transform value, with schema': { sees: ['request', 'workspace/task', 'secrets', 'request.body'], place: (expression) => transformsWith(`applies_to: [typed]\nrequires_body: true\nheader: {name: x-a, action: set, value: ${text(expression)}}`) },
  'Query transform value': { sees: ['request', 'workspace/task', 'secrets'], place: (expression) => transformsWith(`query: {key: a, action: set, value: ${text(expression)}}`) },
  'Query transform value, with schema': { sees: ['request', 'workspace/task', 'secrets', 'request.body'], place: (expression) => transformsWith(`applies_to: [typed]\nrequires_body: true\nquery: {key: a, action: set, value: ${text(expression)}}`) },
  'Path transform value': { sees: ['request', 'workspace/task'], place: (expression) => transformsWith(`path: {action: prefix, value: ${text(expression)}}`) },
  'Path transform value, with schema': { sees: ['request', 'workspace/task', 'request.body'], place: (expression) => transformsWith(`applies_to: [typed]\nrequires_body: true\npath: {action: prefix, value: ${text(expression)}}`) },
  'Body transform value': { sees: ['request', 'workspace/task', 'secrets', 'request.body'], place: (expression) => transformsWith(`applies_to: [untyped]\nbody: {action: prefix, key: a, value: ${text(expression)}}`) },
  'Counter value (header-only)': { sees: ['response'], place: (expression) => countersWith(withValue(headersOnly, expression)) },
  'Counter value (single_document)': { sees: ['response', 'response.body'], place: (expression) => countersWith(withValue(single, expression)) },
  'Counter value (SSE)': { sees: ['response', 'event'], place: (expression) => countersWith(withValue(`${sse}terminal_event_type: done\n`, expression)) },
  'Counter terminal_cel': { sees: ['response', 'event'], place: (expression) => countersWith(`${sse}terminal_cel: ${quoted(expression)}`) },
};

function cases(place: Place, groups: readonly Group[], rejected: boolean): Cases {
  return Object.fromEntries(groups.flatMap((group) => Object.entries(variables[group]).map(([name, expression]) => [name, place(rejected ? `‹undeclared_reference|undeclared reference: ${name}›${expression}` : expression)])));
}

const groups = Object.keys(variables) as Group[];

export const celAvailability: Area = {
  section: '2.7 CEL environments, availability by phase',
  sentences: Object.entries(phases).map(([phase, { sees, place }]) => ({
    quote: `${phase}: ${sees.join(', ')}`,
    accepted: cases(place, sees, false),
    rejected: cases(place, groups.filter((group) => !sees.includes(group)), true),
  })),
};
