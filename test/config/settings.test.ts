import { inspect } from 'node:util';
import t from 'tap';
import type { Setting } from '../../src/config/setting.ts';
import { SettingError } from '../../src/config/setting.ts';
import { readSettings, settingTable } from '../../src/config/settings.ts';

const rows = Object.entries(settingTable) as [string, Setting<unknown>][];

/** A text each parser accepts and one it refuses, told by what the parser says it expects. */
function samples(row: Setting<unknown>): { good: string; bad: string | undefined } {
  const impossible = '\u0001 no setting takes this';
  try {
    row.parse(impossible);
    return { good: 'some text', bad: undefined };
  } catch (error) {
    const message = (error as Error).message;
    const range = /integer from (-?\d+) to (-?\d+)/.exec(message);
    if (range !== null) return { good: range[2] ?? '', bad: String(Number(range[2]) + 1) };
    const choice = /one of ([^,]+)/.exec(message);
    if (choice !== null) return { good: choice[1] ?? '', bad: `${choice[1]}x` };
    const url = /URL starting with (\S+)/.exec(message);
    if (url !== null) return { good: `${url[1]}//somewhere:1/path`, bad: 'gopher://somewhere' };
    const length = /at least (\d+) characters/.exec(message);
    if (length !== null) return { good: 'x'.repeat(Number(length[1])), bad: 'x' };
    if (/keys of 32 bytes/.test(message)) return { good: `${Buffer.alloc(32, 1).toString('base64')},${Buffer.alloc(32, 2).toString('base64')}`, bad: Buffer.alloc(31, 1).toString('base64') };
    return { good: row.fallback ?? '', bad: impossible };
  }
}

function problemsOf(env: Record<string, string>): string {
  try {
    readSettings(env);
  } catch (error) {
    if (error instanceof SettingError) return error.message;
    throw error;
  }
  return '';
}

t.test('the empty environment gives every default', async (t) => {
  const settings = readSettings({}) as unknown as Record<string, unknown>;
  for (const [name, row] of rows) {
    t.same(settings[name], row.fallback === undefined ? undefined : row.parse(row.fallback), name);
    t.equal(Object.hasOwn(settings, name), row.fallback !== undefined, `${name} is ${row.fallback === undefined ? 'absent' : 'there'}`);
  }
});

t.test('the table itself', async (t) => {
  t.equal(new Set(rows.map(([, row]) => row.env)).size, rows.length, 'no variable twice');
  for (const [name, row] of rows) {
    t.match(row.env, /^[A-Z][A-Z0-9_]*[A-Z0-9]$/, `${name}: a variable name`);
    t.match(row.doc, /^[^\n|]{10,}[^.\n|]$/, `${name}: one line of explanation that fits a table`);
    if (/PASSWORD|SECRET|KEY$|TOKEN|CREDENTIAL/.test(row.env)) t.ok(row.secret, `${name} is marked secret`);
  }
});

t.test('every setting reads its own variable and refuses what it does not take', async (t) => {
  for (const [name, row] of rows) {
    const { good, bad } = samples(row);
    const settings = readSettings({ [row.env]: good }) as unknown as Record<string, unknown>;
    t.same(settings[name], row.parse(good), `${name} from ${row.env}`);
    t.same((readSettings({ [row.env]: '' }) as unknown as Record<string, unknown>)[name], row.fallback === undefined ? undefined : row.parse(row.fallback), `${name}: empty is unset`);
    if (bad !== undefined) t.match(problemsOf({ [row.env]: bad }), `${row.env}: expected`, `${name} refuses ${JSON.stringify(bad)}`);
  }
});

t.test('all problems are listed together', async (t) => {
  const env = Object.fromEntries(rows.flatMap(([, row]) => {
    const { bad } = samples(row);
    return bad === undefined ? [] : [[row.env, bad] as const];
  }));
  t.ok(Object.keys(env).length > 20);
  const message = problemsOf(env);
  for (const name of Object.keys(env)) t.match(message, `${name}: expected`, name);
});

t.test('numbers are plain integers', async (t) => {
  for (const text of ['1e3', '0x10', ' 8080', '8080 ', '8080.0', '+8080', '-1', '65536', 'NaN', 'Infinity', '８０８０', '']) {
    if (text === '') t.equal(readSettings({ API_PORT: text }).apiPort, 8080);
    else t.match(problemsOf({ API_PORT: text }), 'API_PORT: expected an integer from 0 to 65535', JSON.stringify(text));
  }
  t.equal(readSettings({ API_PORT: '0' }).apiPort, 0);
});

t.test('a wrong value is shown, a wrong secret is not', async (t) => {
  t.match(problemsOf({ API_PORT: 'eighty' }), 'not "eighty"');
  for (const [name, row] of rows.filter(([, row]) => row.secret)) {
    const { bad } = samples(row);
    if (bad === undefined) continue;
    const message = problemsOf({ [row.env]: `${bad}hunter2` });
    t.match(message, row.env, `${name} is named`);
    t.notMatch(message, 'hunter2', `${name} is not shown`);
  }
});

t.test('settings in a log show no secret, and their values are there all the same', async (t) => {
  const env = { POSTGRES_URL: 'postgres://u:hunter2@h/d', REDIS_URL: 'redis://:hunter2@h', CLICKHOUSE_URL: 'http://u:hunter2@h', CLICKHOUSE_PASSWORD: 'hunter2', API_PORT: '9999' };
  const settings = readSettings(env);
  t.equal(settings.clickhousePassword, 'hunter2');
  t.equal({ ...settings }.postgresUrl, 'postgres://u:hunter2@h/d', 'a copy has the values');
  for (const text of [JSON.stringify(settings), inspect(settings), inspect({ settings }, { depth: null }), JSON.stringify({ deps: { settings } }), inspect(new Error('start failed', { cause: settings }))]) {
    t.notMatch(text, 'hunter2');
    t.match(text, '9999', 'the others are shown');
  }
});
