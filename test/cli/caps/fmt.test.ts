import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { parse, stringify } from 'yaml';
import type { Canonical } from '../../../src/cli/caps/fmt/canonical.ts';
import { canonical } from '../../../src/cli/caps/fmt/canonical.ts';

const examplesDir = join(import.meta.dirname, '../../../examples/caps');

function textOf(result: Canonical): string {
  if ('text' in result) return result.text;
  throw new Error(JSON.stringify(result));
}
const fmt = (...lines: string[]): string[] => textOf(canonical(`${lines.join('\n')}\n`)).split('\n').slice(0, -1);
const read = (text: string): unknown => parse(text, { version: '1.2', schema: 'core', intAsBigInt: true });
const commentsOf = (text: string): string[] => (text.match(/# c\d+/g) ?? []).sort();

t.test('the examples are canonical', async (t) => {
  const names = readdirSync(examplesDir).filter((name) => name.endsWith('.yaml'));
  t.ok(names.length >= 14);
  for (const name of names) {
    const text = readFileSync(join(examplesDir, name), 'utf8');
    t.equal(textOf(canonical(text)), text, name);
  }
});

t.test('keys come in the order of the documentation, unknown ones last; those of a schema stay', async (t) => {
  t.same(fmt(
    '- budgets: {counters: [{max_concurrent: 1, task: {ttl: 1h, max: 5}, source: request.count, name: calls}]}',
    '  extra: 1',
    '  transforms:',
    '  - {header: {value: "1", name: X, action: set}, applies_to: [r], name: t}',
    '  allow:',
    '  - request_schema: {type: object, required: [a], $schema: x}',
    '    match: {requires_body: true, expr: "true"}',
    '    methods: [GET]',
    '    domains: [a.example.com]',
    '    name: r',
    '  type: http',
    '  name: c',
  ), [
    '- name: c',
    '  type: http',
    '  allow:',
    '    - name: r',
    '      domains: [a.example.com]',
    '      methods: [GET]',
    '      match: {expr: "true", requires_body: true}',
    '      request_schema: {type: object, required: [a], $schema: x}',
    '  transforms:',
    '    - {name: t, applies_to: [r], header: {name: X, action: set, value: "1"}}',
    '  budgets:',
    '    counters:',
    '      - {name: calls, source: request.count, max_concurrent: 1, task: {max: 5, ttl: 1h}}',
    '  extra: 1',
  ]);
});

t.test('a comment stays with what it is about, at its level', async (t) => {
  t.same(fmt(
    '# head',
    '',
    '# on c',
    '- type: http # of type',
    '  # on the rules',
    '  allow:',
    '    # on the rule',
    '    - match:',
    '        # on requires_body',
    '        requires_body: true',
    '        # on expr',
    '        expr: "true"',
    '      name: r',
    '      domains: [a.example.com]',
    '      # methods: [GET]',
    '  # on the name',
    '  name: c',
    '  # after all',
    '',
    '',
    '',
    '# on d',
    '- name: d',
    '# end',
  ), [
    '# head',
    '',
    '# on c',
    '# on the name',
    '- name: c',
    '  type: http # of type',
    '  # on the rules',
    '  allow:',
    '    # on the rule',
    '    - name: r',
    '      domains: [a.example.com]',
    '      match:',
    '        # on expr',
    '        expr: "true"',
    '        # on requires_body',
    '        requires_body: true',
    '      # methods: [GET]',
    '  # after all',
    '',
    '# on d',
    '- name: d',
    '',
    '# end',
  ]);
});

t.test('scalars keep their meaning and their spelling', async (t) => {
  t.same(fmt(
    "- name: 'plain enough'",
    '  type: "no"',
    '  a: [0x1F, 1e3, 9007199254740993, -0, .inf, ~, True, "012", \'true\', "1_000", "2001-01-01", \'[x\', "it\'s", \'say "x"\', 2xx]',
    '  b: >-',
    '      folded',
    '      lines',
    '  c: |', '    kept as', '      it is',
    '  d: request.method ==',
    '    "GET"',
    '  budgets: {counters: [{name: calls, status_codes: [2xx, "409"]}]}',
    '  e: &a [x]',
    '  f: *a',
  ), [
    '- name: plain enough',
    '  type: "no"',
    '  a: [0x1F, 1e3, 9007199254740993, -0, .inf, ~, True, "012", "true", "1_000", 2001-01-01, "[x", it\'s, say "x", 2xx]',
    '  b: >-', '    folded', '    lines',
    '  c: |', '    kept as', '      it is',
    '  d: >-',
    '    request.method ==',
    '    "GET"',
    '  budgets:',
    '    counters:',
    '      - {name: calls, status_codes: ["2xx", "409"]}',
    '  e: &a [x]',
    '  f: *a',
  ]);
});

t.test('what takes several lines is a block, but in a schema', async (t) => {
  const paths = Array.from({ length: 12 }, (_, index) => `/resources/${index}/**`);
  t.same(fmt('- allow:', `  - {paths: [${paths.join(', ')}], methods: [GET, # read`, '    HEAD]}', '  - request_schema: {enum: [a,', '      b]}'), [
    '- allow:', '    - methods:', '        - GET # read', '        - HEAD', '      paths:', ...paths.map((path) => `        - ${path}`), '    - request_schema: {enum: [a, b]}',
  ]);
});

t.test('JSON, a byte order mark and CRLF come out as plain YAML', async (t) => {
  t.same(textOf(canonical('\ufeff[\r\n  {"type": "http", "name": "c",\r\n   "allow": []}]')), '- name: c\n  type: http\n  allow: []\n');
  t.same(textOf(canonical('# c\r\n- name: c # d\r\n  a: |\r\n    x\r\n    y\r\n')), '# c\n- name: c # d\n  a: |\n    x\n    y\n');
  t.same(textOf(canonical('[]')), '[]\n');
});

t.test('what is no YAML is not touched', async (t) => {
  for (const [text, slug] of [['- a: [', 'yaml_syntax'], ['a: 1\na: 2', 'duplicate_key'], ['- x\n---\n- y', 'multiple_documents'], ['', 'document_not_list'], ['- !!set {}', 'unknown_tag'], ['- *a', 'alias_not_allowed'], [`- ${'['.repeat(100)}`, 'document_too_deep']] as const) {
    const result = canonical(text);
    t.ok('problems' in result && result.problems.some((problem) => problem.slug === slug), text.slice(0, 20), { result });
  }
});

const keys = ['name', 'type', 'allow', 'transforms', 'budgets', 'counters', 'domains', 'match', 'expr', 'requires_body', 'request_schema', 'header', 'action', 'value', 'status_codes', 'workspace', 'max', '__proto__', 'on', '1', 'a b', 'x: y', '# z'];
const values = fc.oneof(fc.constantFrom('http', 'no', '', ' ', '~', '2xx', '012', '*.example.com', '"v"', 'a: b', 'a # b', '- a', 'line\nline', 'line\n\n  more\n', '\ttab', '%a', '---', 'é日本', 'null'), fc.string({ maxLength: 90 }), fc.integer(), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null));
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof({ maxDepth: 6, depthSize: 'small' }, values, fc.array(tie('tree'), { maxLength: 4 }), fc.dictionary(fc.constantFrom(...keys), tie('tree'), { maxKeys: 6 })),
}));
const capability = fc.record({ name: tree, allow: fc.array(fc.dictionary(fc.constantFrom(...keys), tree, { maxKeys: 4 }), { maxLength: 3 }), budgets: fc.record({ counters: fc.array(fc.dictionary(fc.constantFrom(...keys), tree, { maxKeys: 4 }), { maxLength: 2 }) }), type: tree }, { requiredKeys: [] });
const style = fc.record({
  indent: fc.constantFrom(1, 2, 4, 7), indentSeq: fc.boolean(), lineWidth: fc.constantFrom(0, 20, 80), collectionStyle: fc.constantFrom('any' as const, 'any' as const, 'flow' as const),
  defaultStringType: fc.constantFrom('PLAIN' as const, 'QUOTE_SINGLE' as const, 'QUOTE_DOUBLE' as const, 'BLOCK_FOLDED' as const, 'BLOCK_LITERAL' as const), defaultKeyType: fc.constantFrom('PLAIN' as const, 'QUOTE_DOUBLE' as const), flowCollectionPadding: fc.boolean(),
});
const comments = fc.array(fc.record({ at: fc.nat(), column: fc.nat({ max: 12 }), own: fc.boolean(), blank: fc.nat({ max: 2 }) }), { maxLength: 8 });
const written = fc.record({ list: fc.array(capability, { maxLength: 3 }), style, comments, crlf: fc.boolean() }).map(({ list, style, comments, crlf }) => {
  const lines = stringify(list, { version: '1.2', ...style }).split('\n');
  for (const [number, { at, column, own, blank }] of comments.entries()) {
    const line = at % lines.length;
    if (own) lines.splice(line, 0, ...Array<string>(blank).fill(''), `${' '.repeat(column)}# c${number}`);
    else lines[line] = `${lines[line] ?? ''} # c${number}`;
  }
  return lines.join(crlf ? '\r\n' : '\n');
});

t.test('whatever the document: the same meaning, the same comments, and nothing to do the second time', async (t) => {
  let formatted = 0;
  fc.assert(fc.property(written, (text) => {
    const result = canonical(text);
    if ('problems' in result) return result.problems.length > 0;
    if ('refused' in result) return false;
    formatted += 1;
    return isDeepStrictEqual(read(result.text), read(text)) && isDeepStrictEqual(commentsOf(result.text), commentsOf(text)) && textOf(canonical(result.text)) === result.text;
  }), { numRuns: 400 });
  t.ok(formatted > 300, `${formatted} formatted`);
});
