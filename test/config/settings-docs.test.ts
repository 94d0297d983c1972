import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { composeVariables, envExample, settingsTable, withSettingsTable } from '../../scripts/settings-docs.ts';
import type { Setting } from '../../src/config/setting.ts';
import { readSettings, settingTable } from '../../src/config/settings.ts';

const root = join(import.meta.dirname, '../..');
const rows: readonly Setting<unknown>[] = Object.values(settingTable);
const hint = 'run `npm run docs`';

t.test('.env.example is current and lists exactly the variables of the table and those of docker-compose.yml', async (t) => {
  const file = readFileSync(join(root, '.env.example'), 'utf8');
  t.equal(file, envExample(), hint);
  const names = [...file.matchAll(/^#?([A-Z][A-Z0-9_]*)=/gm)].map((match) => match[1]);
  t.same(names.sort(), [...rows.map((row) => row.env), ...Object.keys(composeVariables)].sort());
});

t.test('what .env.example shows as defaults are the defaults', async (t) => {
  const shown = Object.fromEntries([...readFileSync(join(root, '.env.example'), 'utf8').matchAll(/^#?([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name = '', value = '']): [string, string] => [name, value]));
  t.same({ ...readSettings(shown) }, { ...readSettings({}) });
});

t.test('no default of a secret holds a password', async (t) => {
  for (const row of rows.filter((row) => row.secret)) {
    if (row.fallback === undefined || row.fallback === '') continue;
    // Else it is the place of a file.
    if (!row.fallback.startsWith('.data/')) t.equal(new URL(row.fallback).password, '', row.env);
  }
});

t.test('the README\'s table is current', async (t) => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  t.equal(readme, withSettingsTable(readme), hint);
});

t.test('the table has one row for each variable', async (t) => {
  const [, , ...lines] = settingsTable().split('\n');
  t.same(lines.map((line) => /^\| `([A-Z0-9_]+)` \|/.exec(line)?.[1]), rows.map((row) => row.env));
  for (const line of lines) t.equal(line.replaceAll('\\|', '').split('|').length, 5, line);
});

t.test('a README without markers is an error, text around them stays', async (t) => {
  t.throws(() => withSettingsTable('# Readme'), { message: /markers/ });
  const made = withSettingsTable('before\n<!-- settings:start -->\na stale table\n<!-- settings:end -->\nafter\n');
  t.ok(made.startsWith('before\n<!-- settings:start -->\n| variable |') && made.endsWith('|\n<!-- settings:end -->\nafter\n'));
  t.notMatch(made, 'a stale table');
  t.equal(withSettingsTable(made), made, 'twice is once');
});
