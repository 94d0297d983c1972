import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { checkFile } from '../../../src/cli/caps/policy-file.ts';
import { escapeData, escapeProperty, githubReport } from '../../../src/cli/caps/validate/github.ts';
import { jsonReport } from '../../../src/cli/caps/validate/json.ts';
import { artifactUri, sarifReport } from '../../../src/cli/caps/validate/sarif.ts';
import { problemSlugs } from '../../../src/policy/problem-slugs.ts';

const check = (text: string, file = 'policies/caps.yaml') => checkFile({ name: file, bytes: Buffer.from(text) });
const wrong = '- name: demo\n  type: http\n  allow:\n    - domains: [api.example.com]\n      methods: [GET]\n      paths: ["/a?b"]\n      match: {expr: request.hots == "a"}\n';
const sound = '- {name: d, type: http, allow: [{domains: [api.example.com], methods: [GET]}]}';
const many = check(`[${'x,'.repeat(700)}]`);

t.test('json: one entry a file, with these keys and no others', async (t) => {
  t.strictSame(JSON.parse(jsonReport([check(wrong), check(sound, '-')])), [
    {
      file: 'policies/caps.yaml',
      valid: false,
      problems: [{ slug: 'undeclared_reference', message: 'undeclared reference: request.hots', path: 'capabilities[0].allow[0].match.expr', line: 7, column: 21, hint: 'did you mean request.host?', expression_column: 1 }],
      warnings: [{ slug: 'path_never_matches', message: 'no request path matches "/a?b": paths are matched without the query and hold no ? or #', path: 'capabilities[0].allow[0].paths[0]', line: 6, column: 15 }],
    },
    { file: '-', valid: true, problems: [], warnings: [] },
  ]);
  t.strictSame(JSON.parse(jsonReport([])), []);
  const [{ problems }] = JSON.parse(jsonReport([many])) as [{ problems: { slug: string; line: number | null; column: number | null }[] }];
  t.match(problems.at(-1), { slug: 'too_many_problems', line: null, column: null }, 'what stands nowhere');
});

type Region = { startLine: number; startColumn: number };
type Result = { ruleId: string; ruleIndex: number; level: string; message: { text: string }; locations: { physicalLocation: { artifactLocation: { uri: string }; region?: Region }; logicalLocations: { fullyQualifiedName: string }[] }[] };
type Sarif = {
  version: string;
  $schema: string;
  runs: { tool: { driver: { name: string; semanticVersion: string; rules: { id: string; shortDescription: { text: string }; defaultConfiguration: { level: string } }[] } }; columnKind: string; invocations: { executionSuccessful: boolean; toolExecutionNotifications: unknown[] }[]; results: Result[] }[];
};
const sarif = (...[files, unreadable = []]: [files: Parameters<typeof sarifReport>[0], unreadable?: string[]]): Sarif => JSON.parse(sarifReport(files, { version: '1.2.3', unreadable }, '/srv')) as Sarif;

t.test('sarif 2.1.0: every result points to its rule, its file and its place', async (t) => {
  const log = sarif([check(wrong), many]);
  t.equal(log.version, '2.1.0');
  t.equal(log.runs.length, 1);
  const [run] = log.runs;
  if (run === undefined) return;
  const { driver } = run.tool;
  t.match(driver, { name: 'customhouse', semanticVersion: '1.2.3' });
  t.same(driver.rules.map(({ id }) => id), Object.keys(problemSlugs), 'every slug there is, once');
  t.ok(driver.rules.every(({ shortDescription, defaultConfiguration }) => shortDescription.text.endsWith('.') && ['error', 'warning'].includes(defaultConfiguration.level)));
  t.equal(driver.rules.find(({ id }) => id === 'path_never_matches')?.defaultConfiguration.level, 'warning');
  t.equal(run.columnKind, 'utf16CodeUnits');
  t.strictSame(run.results.slice(0, 2), [
    {
      ruleId: 'undeclared_reference', ruleIndex: Object.keys(problemSlugs).indexOf('undeclared_reference'), level: 'error', message: { text: 'undeclared reference: request.hots\ndid you mean request.host?' },
      locations: [{ physicalLocation: { artifactLocation: { uri: 'policies/caps.yaml' }, region: { startLine: 7, startColumn: 21 } }, logicalLocations: [{ fullyQualifiedName: 'capabilities[0].allow[0].match.expr' }] }],
    },
    {
      ruleId: 'path_never_matches', ruleIndex: Object.keys(problemSlugs).indexOf('path_never_matches'), level: 'warning', message: { text: 'no request path matches "/a?b": paths are matched without the query and hold no ? or #' },
      locations: [{ physicalLocation: { artifactLocation: { uri: 'policies/caps.yaml' }, region: { startLine: 6, startColumn: 15 } }, logicalLocations: [{ fullyQualifiedName: 'capabilities[0].allow[0].paths[0]' }] }],
    },
  ]);
  for (const { ruleId, ruleIndex } of run.results) if (driver.rules[ruleIndex]?.id !== ruleId) t.fail(`${ruleId} does not point to its rule`);
  t.notOk(Object.hasOwn(run.results.at(-1)?.locations[0]?.physicalLocation ?? {}, 'region'), 'no region for what stands nowhere');
  t.same(run.invocations, [{ executionSuccessful: true, toolExecutionNotifications: [] }]);
});

t.test('sarif: without problems, and with files that could not be read', async (t) => {
  t.same(sarif([check(sound)]).runs[0]?.results, []);
  t.same(sarif([], ['a.yaml: no such file']).runs[0]?.invocations, [{ executionSuccessful: false, toolExecutionNotifications: [{ level: 'error', message: { text: 'a.yaml: no such file' } }] }]);
});

t.test('sarif: addresses are relative to the working directory', async (t) => {
  t.equal(artifactUri('./a/b.yaml', '/srv'), 'a/b.yaml');
  t.equal(artifactUri('/srv/a b#c%é.yaml', '/srv'), 'a%20b%23c%25%C3%A9.yaml');
  t.equal(artifactUri('..a.yaml', '/srv'), '..a.yaml', 'a name that begins with dots is no way out');
  t.equal(artifactUri('../x.yaml', '/srv'), pathToFileURL(resolve('/x.yaml')).href);
  t.equal(artifactUri('-', '/srv'), 'stdin');
});

t.test('github: one command a problem, its text escaped', async (t) => {
  t.equal(githubReport([check(wrong, './a,b:c%.yaml')]), [
    '::error file=a%2Cb%3Ac%25.yaml,line=7,col=21,title=undeclared_reference::capabilities[0].allow[0].match.expr: undeclared reference: request.hots%0Adid you mean request.host?',
    '::warning file=a%2Cb%3Ac%25.yaml,line=6,col=15,title=path_never_matches::capabilities[0].allow[0].paths[0]: no request path matches "/a?b": paths are matched without the query and hold no ? or #',
    '1 file, 1 problem, 1 warning',
    '',
  ].join('\n'));
  t.equal(githubReport([check(sound)]), '1 file, 0 problems, 0 warnings\n');
  t.match(githubReport([check('- a: [', '-')]), /^::error line=/, 'standard input has no name');
  t.match(githubReport([many]), /\n::error file=policies\/caps\.yaml,title=too_many_problems::/);
  t.equal(escapeData('100%\r\n::error::x'), '100%25%0D%0A::error::x');
  t.equal(escapeProperty('a:b,c%\n'), 'a%3Ab%2Cc%25%0A');
});

t.test('github: a document cannot make commands of its own', async (t) => {
  const report = githubReport([check('- "x\\n::stop-commands::y\\r::set-env name=A::b": 1\n', 'a\n::debug::b.yaml')]);
  t.notMatch(report, /\r/);
  const commands = report.trimEnd().split('\n').slice(0, -1);
  t.ok(commands.length > 0);
  t.same(commands.filter((line) => !/^::(error|warning) file=/.test(line)), []);
});
