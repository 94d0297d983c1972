import t from 'tap';
import { checkFile } from '../../../src/cli/caps/policy-file.ts';
import { excerpt, linesOf } from '../../../src/cli/caps/validate/excerpt.ts';
import { humanReport } from '../../../src/cli/caps/validate/human.ts';

const plainScreen = { write: () => true };
const colourScreen = { write: () => true, hasColors: () => true };
const check = (text: string | Uint8Array, file = 'caps.yaml') => checkFile({ name: file, bytes: Buffer.from(text) });
const rule = '{domains: [api.example.com], methods: [GET]}';

t.test('a problem: place, path, message, slug, the line with a caret, what to do', async (t) => {
  const file = check(`- name: demo\n  type: http\n  allow: [${rule}]\n  trnasforms: []\n`);
  t.equal(humanReport(plainScreen, [file]), [
    'caps.yaml:4:3: capabilities[0].trnasforms: a capability has no field "trnasforms" [unknown_field]',
    '    4 |   trnasforms: []',
    '      |   ^',
    '      → did you mean transforms?',
    '',
    'caps.yaml: 1 problem',
    '',
  ].join('\n'));
});

t.test('problems and warnings come in the order of the text; each file has its own sum', async (t) => {
  const one = check(`- name: demo\n  type: http\n  allow:\n    - domains: [api.example.com]\n      methods: [get]\n      paths: ["/a?b"]\n  extra: 1\n`, 'one.yaml');
  const lines = humanReport(plainScreen, [one, check('[]', 'two.yaml'), check(`- {name: d, type: http, allow: [${rule}]}`, 'three.yaml')]).split('\n');
  t.same(lines.filter((line) => /^\S/.test(line)).map((line) => line.replace(/^(\S+:\d+:\d+: (?:warning: )?).*(\[\w+\])$/, '$1$2')), [
    'one.yaml:5:17: [invalid_enum]', 'one.yaml:6:15: warning: [path_never_matches]', 'one.yaml:7:3: [unknown_field]', 'one.yaml: 2 problems, 1 warning',
    'two.yaml: valid (denies everything)', 'three.yaml: valid (1 capability, 1 rule)',
  ]);
});

t.test('an expression: the caret stands inside of it', async (t) => {
  const text = `- name: demo\n  type: http\n  allow:\n    - domains: [api.example.com]\n      methods: [GET]\n      match: {expr: 'request.host == "a" && request.hots == "b"'}\n`;
  const [, shown = '', caret = ''] = humanReport(plainScreen, [check(text)]).split('\n');
  t.equal(shown.slice(caret.indexOf('^')), 'request.hots == "b"\'}');
});

t.test('colours where the terminal has them, and only there', async (t) => {
  const file = check('- name: demo\n');
  t.match(humanReport(colourScreen, [file]), /\u001b\[31m/);
  t.notMatch(humanReport(plainScreen, [file]), /\u001b/);
});

t.test('what a document says is not obeyed by the terminal', async (t) => {
  for (const text of ['- name: "a\u001b[31m\u009b31mred\u202e"\n', '- name: "\\e[31m\\u009b31m\\u202e"\n  "\\e]0;x\\a": 1\n']) {
    const report = humanReport(plainScreen, [check(text, 'caps\u001b[2J.yaml')]);
    t.match(report, /caps\?\[2J\.yaml:1:/);
    t.notMatch(report, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  }
});

t.test('a file that is not UTF-8 says where', async (t) => {
  const bytes = Buffer.concat([Buffer.from('- name: é\n  typ'), Buffer.from([0xff]), Buffer.from(': http\n')]);
  t.match(humanReport(plainScreen, [check(bytes)]), /^caps\.yaml:2:6: capabilities: the file is not UTF-8 text \[yaml_syntax\]\n\ncaps\.yaml: 1 problem\n$/);
  // A character that the file ends in the middle of.
  t.match(check(Buffer.from([...Buffer.from('- é: '), 0xe6, 0x97])).problems, [{ line: 1, column: 6 }]);
});

/** What the caret stands under: terminal columns, where `wide` characters take two. */
function under(text: string, column: number, line = 1, wide = /[日本語😀]/u): string {
  const [shown = '', caret = ''] = excerpt(linesOf(text), line, column).split('\n');
  let width = 0;
  for (const character of shown) {
    if (width === caret.indexOf('^')) return character;
    width += wide.test(character) ? 2 : 1;
  }
  return '';
}

t.test('the caret stands under the character, whatever is in front of it', async (t) => {
  t.equal(under('abc: X', 6), 'X');
  t.equal(under('日本語: X', 6), 'X', 'wide characters');
  t.equal(under('"😀": X', 7), 'X', 'characters of two UTF-16 units');
  t.equal(under('\t\tX', 3), 'X', 'tabs');
  t.equal(under('a\r\nb\r\n  X\r\n', 3, 3), 'X', 'CRLF');
  t.match(excerpt(linesOf('cafe\u0301: X'), 1, 8), /\n {6}\| {7}\^\n$/, 'a combining accent takes no column');
  t.match(excerpt(linesOf('ab'), 1, 3), /\| ab\n {6}\| {3}\^\n$/, 'behind the end of the line');
  t.match(excerpt(linesOf('ab'), 1, 99), /\| {3}\^\n$/, 'never further');
  t.equal(excerpt(linesOf('ab'), 2, 1), '', 'a line that is not there');
});

t.test('of a long line the part around the column is shown', async (t) => {
  const long = `${'a'.repeat(400)}X${'b'.repeat(400)}`;
  for (const column of [1, 60, 121, 401, 700, 801]) {
    const [shown = '', caret = ''] = excerpt(linesOf(long), 1, column).split('\n');
    t.ok(shown.length <= 8 + 122, `column ${column}: ${shown.length}`);
    t.ok(caret.length <= shown.length, 'the caret is below it');
    t.equal(shown.startsWith('    1 | …'), column > 71);
    t.equal(shown.endsWith('…'), column < 750);
  }
  t.equal(under(long, 401), 'X');
  const smileys = `${'😀'.repeat(300)}X${'😀'.repeat(300)}`;
  t.equal(under(smileys, 601), 'X');
  for (const column of [1, 2, 3, 4, 599, 600, 601, 602, 603]) t.ok(excerpt(linesOf(smileys), 1, column).isWellFormed(), `column ${column}: no character is cut in two`);
});
