import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { runExplain } from '../../../src/cli/caps/explain/explain.ts';

const screen = { write: () => true };
const dir = await mkdtemp(join(tmpdir(), 'customhouse-explain-'));
t.teardown(() => rm(dir, { recursive: true, force: true }));

type Explained = { transforms: { name: string; result: string; after: string[] | null }[] };

const secretPolicy = `
- name: a
  type: http
  allow: [{name: r, domains: [a.example.com], methods: [GET]}]
  transforms:
    - {name: h, header: {name: x-key, action: set, value: '"k " + secrets["one"]'}}
    - {name: q, query: {action: set, key: key, value: 'secrets["one"]'}}
    - {name: number, header: {name: x-number, action: set, value: 'string(int(secrets["number"]))'}}
    - {name: auth, auth: {credential: my cred, provider: serpapi}}
`;

const request = { method: 'GET', url: 'https://a.example.com/' };

t.test('secrets: only placeholders are shown, given values decide whether a transform applies', async (t) => {
  const file = join(dir, 'secret.yaml');
  await writeFile(file, secretPolicy);
  const results = async (...secret: string[]) => {
    const human = await runExplain(file, { ...request, secret, format: 'human' }, { screen });
    const { output, complaints } = await runExplain(file, { ...request, secret, format: 'json' }, { screen });
    for (const text of [human.output, output]) t.notMatch(text, /hunter2|~customhouse|4711/);
    t.match(human.output, '«credential:my cred»');
    const { transforms } = JSON.parse(output) as Explained;
    return { complaints, shown: Object.fromEntries(transforms.map(({ name, result, after }) => [name, result === 'applied' ? (after?.join() ?? null) : result])) };
  };
  const assumed = { h: 'k «secret:one»', q: 'key=«secret:one»', auth: 'api_key=«credential:my cred»' };
  t.match((await results()).shown, { ...assumed, number: 'eval_error' });
  t.match((await results('one=hunter2', 'number=4711')).shown, { ...assumed, number: null }, 'what is made of the value is not shown');
  t.match((await results('one=hunter2\nx')).shown, { h: 'apply_error', q: 'key=«secret:one»' }, 'a line break does not fit into a header');
  t.match((await results('number=hunter2')).shown, { number: 'eval_error' });
  await writeFile(join(dir, 'secret.txt'), 'hunter2\n');
  t.match((await results(`one=@${join(dir, 'secret.txt')}`)).shown, { h: 'k «secret:one»' }, 'the newline at the end of a file is no part of it');
  t.match((await results('other=hunter2')).complaints, [/^--secret other: the policy names no such secret, only /]);
});
