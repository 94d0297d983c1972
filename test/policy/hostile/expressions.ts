import type { HostileCase } from './case.ts';

const match = (expression: string) => `- name: demo\n  type: http\n  allow:\n    - domains: [api.example.com]\n      methods: [GET]\n      match:\n        expr: ${JSON.stringify(expression)}\n`;
const schema = (json: string) => `- name: demo\n  type: http\n  allow:\n    - domains: [api.example.com]\n      methods: [POST]\n      request_format: application/json\n      request_schema: ${json}\n`;
const path = (pattern: string) => `- name: demo\n  type: http\n  allow: [{domains: [api.example.com], methods: [GET]}]\n  transforms:\n    - path: {action: replace, pattern: ${JSON.stringify(pattern)}, value: '"/"'}\n`;
const nested = (open: string, depth: number, inner: string, close: string) => `${open.repeat(depth)}${inner}${close.repeat(depth)}`;

/** CEL that is long, deep or expensive. */
export const expressionCases: readonly HostileCase[] = [
  { name: '2,000 brackets', text: () => match(nested('(', 2_000, 'true', ')')), expects: ['cel_too_complex'] },
  { name: '400 open brackets', text: () => match('('.repeat(400)), expects: ['cel_too_complex', 'cel_syntax'] },
  { name: '4,000 open square brackets', text: () => match('['.repeat(4_000)), expects: ['cel_too_complex', 'cel_syntax'] },
  { name: '4,000 times !', text: () => match(`${'!'.repeat(4_000)}true`), expects: ['cel_too_complex', 'valid'] },
  { name: '4,000 times -', text: () => match(`${'-'.repeat(4_000)}1 == 1`), expects: ['cel_too_complex', 'valid'] },
  { name: '600 times ? :', text: () => match(`${'true ? '.repeat(500)}true${' : true'.repeat(80)}`), expects: ['cel_too_complex', 'cel_syntax'] },
  { name: '1,000 times ||', text: () => match(Array.from({ length: 400 }, () => 'true').join(' || ')), expects: ['cel_too_complex', 'valid'] },
  { name: '1,300 fields in a row', text: () => match(`request.headers${'.a'.repeat(1_900)}`), expects: ['cel_too_complex', 'cel_type', 'cel_result_type', 'undeclared_reference'] },
  { name: '40 nested macros', text: () => match(nested('[1].exists(x, ', 40, 'true', ')')), expects: ['cel_too_complex', 'valid'] },
  { name: 'a text of 5,000 characters', text: () => match(`"${'a'.repeat(5_000)}" == ""`), expects: ['cel_too_complex'] },
  { name: '200 KB of expression', text: () => match('true || '.repeat(25_000)), expects: ['cel_too_complex'] },
  { name: 'a not closed text', text: () => match(`"${'\\'.repeat(3_999)}`), expects: ['cel_syntax'] },
  { name: 'a not closed raw text of three quotes', text: () => match(`r"""${'"'.repeat(1)}${'a'.repeat(3_000)}`), expects: ['cel_syntax'] },
  { name: 'an integer of 4,000 digits', text: () => match(`${'9'.repeat(4_000)} == 1`), expects: ['cel_integer_range', 'cel_too_complex', 'cel_syntax'] },
  { name: '4,000 commas', text: () => match(`[${','.repeat(4_000)}]`), expects: ['cel_syntax'] },
  { name: 'a map of 500 entries', text: () => match(`{${Array.from({ length: 400 }, (_, index) => `"${index}":1`).join(',')}} == {}`), expects: ['valid', 'cel_too_complex'] },
  { name: 'NUL inside', text: () => match('request.method == "a\u0000"'), expects: ['valid', 'cel_syntax'] },
  { name: 'half a surrogate pair inside', text: () => match('request.method == "\ud800"'), expects: ['yaml_syntax', 'cel_syntax'] },
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'].flatMap((name) => [
    { name: `variable ${name}`, text: () => match(`${name} == 1`), expects: ['undeclared_reference'] as const },
    { name: `member ${name} of request`, text: () => match(`request.${name} == "1"`), expects: ['undeclared_reference'] as const },
    { name: `function ${name}`, text: () => match(`${name}(1)`), expects: ['undeclared_reference'] as const },
    { name: `method ${name}`, text: () => match(`request.method.${name}()`), expects: ['undeclared_reference', 'cel_type'] as const },
    { name: `header ${name}`, text: () => match(`request.headers.${name} == "1"`), expects: ['valid'] as const },
    { name: `struct ${name}`, text: () => match(`${name}{} == 1`), expects: ['undeclared_reference', 'cel_type', 'cel_syntax'] as const },
  ]),
];

/** Patterns that backtracking engines hang on, and those that RE2 refuses. */
export const patternCases: readonly HostileCase[] = [
  { name: 'catastrophic for others', text: () => path('^(a+)+$'), expects: ['valid'] },
  { name: 'catastrophic, alternation', text: () => path('(a|aa)+b'), expects: ['valid'] },
  { name: 'catastrophic, nested', text: () => path('((((a*)*)*)*)*$'), expects: ['valid'] },
  { name: 'a repeat of repeats', text: () => path('(x{1000}){1000}'), expects: ['invalid_regex'] },
  { name: 'many repeats', text: () => path('(x{30}){30}y{900}'.repeat(8)), expects: ['valid', 'invalid_regex'] },
  { name: '900 brackets', text: () => path(nested('(', 490, 'a', ')')), expects: ['valid', 'invalid_regex'] },
  { name: 'a pattern of 200 KB', text: () => path('a'.repeat(200_000)), expects: ['invalid_regex'] },
  { name: 'a class of everything, many times', text: () => path('[\\s\\S]'.repeat(140)), expects: ['valid', 'invalid_regex'] },
  { name: 'classes of Unicode, many times', text: () => path('\\pL'.repeat(330)), expects: ['valid', 'invalid_regex'] },
  { name: 'look-ahead', text: () => path('(?=a)'), expects: ['invalid_regex'] },
  { name: 'a back-reference', text: () => path('(a)\\1'), expects: ['invalid_regex'] },
  { name: 'in CEL', text: () => match('request.path.matches("^(a+)+$")'), expects: ['valid'] },
  { name: 'in CEL, repeat of repeats', text: () => match('request.path.matches("(x{1000}){1000}")'), expects: ['cel_invalid_regex'] },
  { name: 'in a schema', text: () => schema('{pattern: "^(a+)+$"}'), expects: ['valid'] },
  { name: 'in a schema, repeat of repeats', text: () => schema('{pattern: "(x{1000}){1000}"}'), expects: ['schema_invalid_regex'] },
  { name: 'in a schema, 500 patterns', text: () => schema(`{properties: {${Array.from({ length: 500 }, (_, index) => `p${index}: {pattern: "^(a|b){${index}}$"}`).join(', ')}}}`), expects: ['valid', 'schema_too_complex'] },
];

/** JSON Schemas that are deep, wide, or grow while they are used. */
export const schemaCases: readonly HostileCase[] = [
  { name: '2,000 times not, as a text', text: () => schema(`'${nested('{"not":', 2_000, 'true', '}')}'`), expects: ['schema_too_complex', 'schema_invalid'] },
  { name: '60 times not', text: () => schema(nested('{not: ', 50, 'true', '}')), expects: ['valid', 'schema_too_complex', 'document_too_deep'] },
  { name: 'a reference to itself', text: () => schema('{$ref: "#"}'), expects: ['valid', 'schema_invalid', 'schema_too_complex'] },
  { name: 'references in a circle', text: () => schema('{$ref: "#/$defs/a", $defs: {a: {$ref: "#/$defs/b"}, b: {$ref: "#/$defs/a"}}}'), expects: ['valid', 'schema_invalid', 'schema_too_complex'] },
  { name: 'a ladder of references that doubles at each step', text: () => schema(`{$ref: "#/$defs/d0", $defs: {${Array.from({ length: 40 }, (_, index) => `d${index}: {allOf: [{$ref: "#/$defs/d${index + 1}"}, {$ref: "#/$defs/d${index + 1}"}]}`).join(', ')}, d40: {type: string}}}`), expects: ['valid', 'schema_too_complex'] },
  { name: 'an enumeration of 10,000', text: () => schema(`{enum: [${Array.from({ length: 10_000 }, (_, index) => String(index)).join(', ')}]}`), expects: ['valid', 'schema_too_complex'] },
  { name: '5,000 properties', text: () => schema(`{properties: {${Array.from({ length: 5_000 }, (_, index) => `p${index}: true`).join(', ')}}}`), expects: ['valid', 'schema_too_complex'] },
  { name: 'properties that every object has', text: () => schema('{properties: {__proto__: {type: string}, constructor: {type: string}, toString: {$ref: "#/$defs/__proto__"}}, required: [hasOwnProperty], $defs: {__proto__: {type: string}}}'), expects: ['valid'] },
  { name: '__proto__ with a wrong type', text: () => schema('{properties: {__proto__: {type: nothing}}}'), expects: ['schema_invalid'] },
  { name: 'code in a title, a key and a pattern', text: () => schema(`{title: "*/process.exit(9)/*", $comment: "\\n process.exit(9)", properties: {"\\"]+process.exit(9)//": {const: "'+process.exit(9)+'"}}}`), expects: ['valid'] },
  { name: 'an $id with code', text: () => schema('{$id: "javascript:process.exit(9)"}'), expects: ['any'] },
  { name: 'multipleOf the smallest number', text: () => schema('{multipleOf: 5e-324}'), expects: ['valid', 'schema_invalid'] },
  { name: 'multipleOf 0', text: () => schema('{multipleOf: 0}'), expects: ['schema_invalid'] },
  { name: 'minLength beyond doubles', text: () => schema('{minLength: 9007199254740993}'), expects: ['any'] },
];
