import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { runCli } from '../../support/up.ts';

// The command line as a user runs it: a process each.
t.setTimeout(120_000);

const dir = await mkdtemp(join(tmpdir(), 'customhouse-caps-'));
t.teardown(() => rm(dir, { recursive: true, force: true }));
const caps = (args: readonly string[], input?: string): ReturnType<typeof runCli> => runCli(['caps', ...args], {}, input);

const sound = '- name: demo\n  type: http\n  allow:\n    - domains: [api.example.com]\n      methods: [GET]\n';
const warned = sound.replace('[GET]', '[POST]');
const wrong = sound.replace('[GET]', '[get]');
const named = `${sound}  transforms:
    - auth: {credential: live, provider: openai}
    - header: {name: X, action: set, value: 'secrets["known"] + secrets["other"]'}
`;
const files = { sound, warned, wrong, named } as const;
for (const [name, text] of Object.entries(files)) await writeFile(join(dir, `${name}.yaml`), text);
const path = (name: keyof typeof files): string => join(dir, `${name}.yaml`);

t.test('validate: 0 without problems, warnings or not; 1 with problems; --strict makes warnings fail', async (t) => {
  t.match(await caps(['validate', path('sound'), path('warned')]), { code: 0, stdout: /sound\.yaml: valid .*\n[^]*: warning: [^]*warned\.yaml: valid .*1 warning\n$/, stderr: '' });
  t.match(await caps(['validate', '--strict', path('warned')]), { code: 1, stdout: /1 warning\n$/, stderr: '' });
  t.match(await caps(['validate', '--strict', path('sound')]), { code: 0 });
  t.match(await caps(['validate', path('sound'), path('wrong')]), { code: 1, stdout: /sound\.yaml: valid[^]*wrong\.yaml: 1 problem\n$/, stderr: '' });
});

t.test('validate: 2 for a file that cannot be read; the others are reported', async (t) => {
  const missing = join(dir, 'missing.yaml');
  const { code, stdout, stderr } = await caps(['validate', '--format', 'json', path('wrong'), missing, dir]);
  t.equal(code, 2);
  t.match(JSON.parse(stdout), [{ file: path('wrong'), valid: false }]);
  t.equal(stderr, `customhouse: ${missing}: no such file\ncustomhouse: ${dir}: is a directory\n`);
});

t.test('validate: standard input', async (t) => {
  t.same(await caps(['validate', '-'], sound), { code: 0, stdout: '-: valid (1 capability, 1 rule)\n', stderr: '' });
  t.match(await caps(['validate', '-'], wrong), { code: 1, stdout: /^-:5:17: capabilities\[0\]\.allow\[0\]\.methods\[0\]: / });
  t.match(await caps(['validate', '-', '-'], sound), { code: 2, stdout: '', stderr: /once/ });
});

t.test('validate: names that exist', async (t) => {
  const warningsOf = async (...args: string[]): Promise<string[]> => {
    const { code, stdout } = await caps(['validate', '--format', 'json', path('named'), ...args]);
    t.equal(code, 0);
    return (JSON.parse(stdout) as [{ warnings: { slug: string; message: string }[] }])[0].warnings.map(({ slug, message }) => `${slug} ${/"[^"]+"/.exec(message)?.[0] ?? ''}`);
  };
  t.same(await warningsOf(), [], 'nothing is unknown while no names are given');
  t.same(await warningsOf('--secret', 'known', '--secret', 'third'), ['unknown_secret "other"']);
  t.same(await warningsOf('--credential', 'elsewhere', '--secret', 'known', '--secret', 'other'), ['unknown_credential "live"']);
  t.same(await warningsOf('--credential', 'live', '--secret', 'known', '--secret', 'other'), []);
});

t.test('2 for wrong usage, 0 for help', async (t) => {
  for (const args of [['validate'], ['validate', '--format', 'xml', path('sound')], ['validate', '--nonsense', path('sound')], ['validate', path('sound'), '--secret'], ['fmt'], ['fmt', '--check', '--stdout', path('sound')], ['schema', 'extra'], ['nonsense']]) {
    const { code, stdout, stderr } = await caps(args);
    t.same({ code, stdout }, { code: 2, stdout: '' }, args.join(' '));
    t.not(stderr, '');
  }
  t.match(await caps(['--help']), { code: 0, stdout: /Exit codes: 0 .*2 / });
  t.match(await caps(['validate', '--help']), { code: 0, stdout: /--strict/ });
});

t.test('fmt: from standard input to standard output; --check says it by its exit code', async (t) => {
  const loose = '# policy\n- {type: http, name: demo}';
  const tight = '# policy\n- name: demo\n  type: http\n';
  t.same(await caps(['fmt', '-'], loose), { code: 0, stdout: tight, stderr: '' });
  t.match(await caps(['fmt', '--check', '-'], loose), { code: 1, stdout: '-: not formatted\n' });
  t.match(await caps(['fmt', '--check', '-'], tight), { code: 0 });
  t.match(await caps(['fmt', '-'], '- a: ['), { code: 2, stdout: '', stderr: /^customhouse: -: left as it is.*\n-:1:\d+: .*\[yaml_syntax\]\n/ });
});
