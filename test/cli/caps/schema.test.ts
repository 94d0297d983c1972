import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { parse } from 'yaml';
import { runCli } from '../../support/up.ts';

const root = join(import.meta.dirname, '../../..');
const examplesDir = join(root, 'examples/caps');
const { code, stdout, stderr } = await runCli(['caps', 'schema']);
const schema = JSON.parse(stdout) as Record<string, unknown>;
const ajv = new Ajv2020({ allErrors: true, strictSchema: true, strictTypes: false, strictRequired: false });
const accepts = ajv.compile(schema);

t.test('it prints a schema of draft 2020-12 and nothing else', async (t) => {
  t.same({ code, stderr }, { code: 0, stderr: '' });
  t.equal(schema['$schema'], 'https://json-schema.org/draft/2020-12/schema');
  t.ok(ajv.validateSchema(schema), ajv.errorsText());
  t.ok(stdout.endsWith('}\n'));
});

t.test('it accepts every example', async (t) => {
  for (const name of readdirSync(examplesDir).filter((name) => /(?<!\.cases)\.yaml$/.test(name))) {
    t.ok(accepts(parse(readFileSync(join(examplesDir, name), 'utf8'), { version: '1.2' })), `${name} ${accepts.errors?.[0]?.message ?? ''}`);
  }
});

t.test('a reader that goes away ends it quietly', async (t) => {
  // `| head -1`, without a shell: the pipe is closed before the first byte.
  const child = spawn(join(root, 'scripts/customhouse'), ['caps', 'schema'], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [exitCode] = (await once(child, 'close')) as [number | null];
  t.same({ exitCode, said }, { exitCode: 0, said: '' });
});
