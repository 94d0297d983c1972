import type { HostileCase } from './case.ts';

const rule = '{domains: [api.example.com], methods: [GET]}';
const one = (fields: string) => `- name: demo\n  type: http\n  allow: [${rule}]\n${fields}`;

function laughs(levels: number, fan: number): string {
  const lines = ['- &a0 [x, x]'];
  for (let level = 1; level <= levels; level += 1) lines.push(`- &a${level} [${Array.from({ length: fan }, () => `*a${level - 1}`).join(', ')}]`);
  return `${lines.join('\n')}\n`;
}

function manyRules(count: number): string {
  return `- name: demo\n  type: http\n  allow:\n${Array.from({ length: count }, (_, index) => `    - {name: r${index}, domains: [h${index}.example.com], methods: [GET]}\n`).join('')}`;
}

function ruleValues(count: number): unknown {
  return [{ name: 'demo', type: 'http', allow: Array.from({ length: count }, (_, index) => ({ name: `r${index}`, domains: [`h${index}.example.com`], methods: ['GET'] })) }];
}

/** Nested values, as parsed JSON: deeper than any recursion could follow. */
function nestedValue(depth: number): unknown {
  let value: unknown = 'x';
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

function cyclicValue(): unknown {
  const list: unknown[] = [];
  list.push(list);
  return list;
}

/** YAML that is large, deep, aliased or not YAML at all. */
export const documentCases: readonly HostileCase[] = [
  { name: 'billion laughs', text: () => laughs(30, 10), expects: ['alias_not_allowed', 'document_too_many_nodes'] },
  { name: 'billion laughs in a schema', text: () => `${laughs(9, 10).replaceAll('- &', '  - &')}`.replace(/^/, '- name: demo\n  x:\n'), expects: ['alias_not_allowed', 'document_too_many_nodes'] },
  { name: 'quadratic aliases', text: () => `- &a [${'x, '.repeat(5_000)}x]\n${'- *a\n'.repeat(1_000)}`, expects: ['alias_not_allowed', 'document_too_many_nodes'] },
  { name: 'an alias of itself', text: () => '- &a [*a]\n', expects: ['alias_not_allowed'] },
  { name: 'an alias of itself in a map', text: () => '- &a {name: *a}\n', expects: ['alias_not_allowed'] },
  { name: 'an alias of nothing', text: () => '- *nobody\n', expects: ['alias_not_allowed', 'yaml_syntax'] },
  { name: 'an alias as key', text: () => '- {&a name: demo, *a : x}\n', expects: ['key_not_string', 'duplicate_key', 'yaml_syntax', 'alias_not_allowed'] },
  { name: '10 MB of rules', text: () => manyRules(160_000), expects: ['document_too_large'] },
  { name: '10 MB of one text', text: () => one(`  x: ${'a'.repeat(10_000_000)}`), expects: ['document_too_large'] },
  { name: '100,000 rules as YAML', text: () => manyRules(100_000), expects: ['document_too_large'] },
  { name: '100,000 rules as parsed JSON', value: () => ruleValues(100_000), expects: ['document_too_many_nodes'] },
  { name: '10 MB of text as parsed JSON', value: () => [{ name: 'a'.repeat(10_000_000), type: 'http', allow: [] }], expects: ['document_too_large', 'invalid_identifier'] },
  { name: 'as many rules as fit', text: () => manyRules(3_000), expects: ['valid'] },
  { name: 'as many problems as fit', text: () => `${'- {}\n'.repeat(15_000)}`, expects: ['missing_field'] },
  { name: 'as many unknown fields as fit', text: () => `- {${Array.from({ length: 15_000 }, (_, index) => `f${index}: 1`).join(', ')}}\n`, expects: ['unknown_field'] },
  { name: 'as many repeated keys as fit', text: () => `- {${'a: 1, '.repeat(9_000)}a: 1}\n`, expects: ['duplicate_key'] },
  { name: '60,000 open brackets', text: () => '['.repeat(60_000), expects: ['document_too_deep', 'yaml_syntax'] },
  { name: '60,000 open braces', text: () => '{a: '.repeat(60_000), expects: ['document_too_deep', 'yaml_syntax'] },
  { name: '10,000 closed brackets', text: () => `${'['.repeat(10_000)}${']'.repeat(10_000)}`, expects: ['document_too_deep', 'yaml_syntax'] },
  { name: '100 levels of block lists', text: () => `${'- '.repeat(100)}x\n`, expects: ['document_too_deep'] },
  { name: '700 levels of indented maps', text: () => Array.from({ length: 700 }, (_, level) => `${' '.repeat(level)}k:\n`).join(''), expects: ['document_too_deep', 'document_not_list'] },
  { name: '200,000 levels of parsed JSON', value: () => nestedValue(200_000), expects: ['document_too_deep'] },
  { name: 'parsed JSON that contains itself', value: cyclicValue, expects: ['document_too_deep', 'wrong_type', 'alias_not_allowed'] },
  { name: 'a quarter megabyte of question marks', text: () => '? '.repeat(120_000), expects: ['any'] },
  { name: 'a quarter megabyte of quotes', text: () => '"'.repeat(250_000), expects: ['any'] },
  { name: 'a quarter megabyte of colons', text: () => 'a: '.repeat(80_000), expects: ['any'] },
  { name: 'a quarter megabyte of anchors', text: () => '&a '.repeat(80_000), expects: ['any'] },
  { name: 'a quarter megabyte of comments', text: () => '#\n'.repeat(120_000), expects: ['document_not_list'] },
  { name: 'a quarter megabyte of line ends', text: () => '\n'.repeat(250_000), expects: ['document_not_list'] },
  { name: 'a quarter megabyte of documents', text: () => '---\n'.repeat(60_000), expects: ['multiple_documents'] },
  { name: 'a quarter megabyte of tags', text: () => `- ${'!a '.repeat(80_000)}`, expects: ['any'] },
  { name: 'a quarter megabyte of one folded text', text: () => `- >\n${'  a\n\n'.repeat(40_000)}`, expects: ['wrong_type'] },
  { name: 'a quarter megabyte of escapes', text: () => `- "${'\\u0041'.repeat(40_000)}"\n`, expects: ['wrong_type'] },
  { name: 'a broken expression at the end of a long text', text: () => one(`  x: "${'\\u0041'.repeat(30_000)}"`), expects: ['unknown_field'] },
];

/** Characters and tokens that parsers stumble over. */
export const tokenCases: readonly HostileCase[] = [
  { name: 'NUL', text: () => one('  # \u0000'), expects: ['yaml_syntax'] },
  { name: 'NUL, escaped in a name', text: () => one('').replace('demo', '"de\\0mo"'), expects: ['invalid_identifier'] },
  { name: 'a bell in a name', text: () => one('').replace('demo', 'de\u0007mo'), expects: ['yaml_syntax'] },
  { name: 'half a surrogate pair', text: () => one('').replace('demo', 'de\ud800mo'), expects: ['yaml_syntax'] },
  { name: 'the other half', text: () => one('').replace('demo', 'de\udc00mo'), expects: ['yaml_syntax'] },
  { name: 'half a surrogate pair, escaped', text: () => one('').replace('demo', '"de\\ud800mo"'), expects: ['invalid_identifier', 'yaml_syntax'] },
  { name: 'half a surrogate pair in parsed JSON', value: () => [{ name: 'de\ud800mo', type: 'http', allow: [{ domains: ['a.example.com'], methods: ['GET'] }] }], expects: ['invalid_identifier', 'yaml_syntax'] },
  { name: 'a byte order mark', text: () => `\ufeff${one('')}`, expects: ['valid'] },
  { name: 'a byte order mark in the middle', text: () => one('').replace('demo', 'de\ufeffmo'), expects: ['invalid_identifier', 'yaml_syntax'] },
  { name: 'CRLF', text: () => one('').replaceAll('\n', '\r\n'), expects: ['valid'] },
  { name: 'CR alone', text: () => one('').replaceAll('\n', '\r'), expects: ['any'] },
  { name: 'tabs as indentation', text: () => '- name: demo\n\ttype: http\n', expects: ['yaml_syntax'] },
  { name: 'JSON indented by tabs', text: () => JSON.stringify([{ name: 'demo', type: 'http', allow: [{ domains: ['a.example.com'], methods: ['GET'] }] }], null, '\t'), expects: ['valid'] },
  { name: '%YAML 1.1 does not make yes a boolean', text: () => `%YAML 1.1\n---\n${one('').replace('methods', 'allow_insecure: yes, methods')}`, expects: ['wrong_type'] },
  { name: '%YAML 1.1 does not make 010 octal', text: () => `%YAML 1.1\n---\n${one('  budgets: {counters: [{name: a, source: request.count, workspace: {max: 9}, task: {max: 010}}]}\n')}`, expects: ['task_max_over_workspace'] },
  { name: '%YAML 1.1 does not make 1:30 a number', text: () => `%YAML 1.1\n---\n${one('  budgets: {counters: [{name: a, source: request.count, task: {max: "1:30"}}]}\n').replaceAll('"1:30"', '1:30')}`, expects: ['wrong_type'] },
  { name: '%YAML 9.9', text: () => `%YAML 9.9\n---\n${one('')}`, expects: ['any'] },
  { name: '%TAG', text: () => `%TAG ! tag:example.com,2000:\n---\n${one('').replace('demo', '!x demo')}`, expects: ['unknown_tag'] },
  ...['!!js/function', '!!js/regexp', '!!python/object/apply:os.system', '!!binary', '!!set', '!!timestamp', '!local', '!<tag:example.com,2000:x>'].map((tag) => ({ name: `tag ${tag}`, text: () => one('').replace('demo', `${tag} "demo"`), expects: ['unknown_tag', 'yaml_syntax'] as const })),
  ...['1e999', '-1e999', '.inf', '.nan', '9'.repeat(400), `0x${'f'.repeat(300)}`, '1e-400'].map((number) => ({ name: `number ${number.slice(0, 12)}`, text: () => one(`  budgets: {counters: [{name: a, source: request.count, task: {max: ${number}}}]}\n`), expects: ['invalid_int64', 'wrong_type'] as const })),
  ...[Number.POSITIVE_INFINITY, Number.NaN, 2 ** 53, 1e300].map((number) => ({ name: `parsed number ${number}`, value: () => [{ name: 'demo', type: 'http', allow: [{ domains: ['a.example.com'], methods: ['GET'] }], budgets: { counters: [{ name: 'a', source: 'request.count', task: { max: number } }] } }], expects: ['invalid_int64', 'wrong_type'] as const })),
  { name: 'a number of a hundred thousand digits', text: () => one(`  budgets: {counters: [{name: a, source: request.count, task: {max: ${'9'.repeat(100_000)}}}]}\n`), expects: ['invalid_int64'] },
  { name: 'what JSON does not have', value: () => [undefined], expects: ['wrong_type'] },
  { name: 'a function', value: () => [() => 1], expects: ['wrong_type'] },
  { name: 'a symbol', value: () => [Symbol('x')], expects: ['wrong_type'] },
  { name: 'a bigint', value: () => [1n], expects: ['wrong_type'] },
  { name: 'a date', value: () => [new Date(0)], expects: ['wrong_type', 'missing_field'] },
];
