import { chmod, lstat, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { FmtOptions } from '../../../src/cli/caps/fmt/fmt.ts';
import { runFmt } from '../../../src/cli/caps/fmt/fmt.ts';
import { replaceFile } from '../../../src/cli/caps/fmt/replace-file.ts';
import { UsageError } from '../../../src/cli/caps/usage.ts';

const dir = await mkdtemp(join(tmpdir(), 'customhouse-fmt-'));
t.teardown(() => rm(dir, { recursive: true, force: true }));
const screen = { write: () => true };
const fmt = (names: readonly string[], options: FmtOptions = {}) => runFmt(names, options, { screen, errorScreen: screen });
const loose = '- type:   http # c\n  name: demo\n';
const tight = '- name: demo\n  type: http # c\n';

async function file(name: string, text: string | Uint8Array): Promise<string> {
  const path = join(dir, name);
  await writeFile(path, text);
  return path;
}

t.test('a file is replaced whole, with its mode; one that is canonical is not written', async (t) => {
  const path = await file('a.yaml', loose);
  await chmod(path, 0o640);
  const before = await stat(path);
  t.same(await fmt([path]), { code: 0, output: `${path}: formatted\n`, complaints: [] });
  t.equal(await readFile(path, 'utf8'), tight);
  const after = await stat(path);
  t.equal(after.mode & 0o7777, 0o640);
  t.not(after.ino, before.ino, 'another file under the same name');
  t.same(await fmt([path]), { code: 0, output: `${path}: unchanged\n`, complaints: [] });
  t.equal((await stat(path)).ino, after.ino);
  t.same(await readdir(dir), ['a.yaml'], 'nothing is left beside it');
});

t.test('a link stays a link', async (t) => {
  await mkdir(join(dir, 'real'));
  const real = await file('real/b.yaml', loose);
  const link = join(dir, 'link.yaml');
  await symlink('real/b.yaml', link);
  t.match(await fmt([link]), { code: 0 });
  t.ok((await lstat(link)).isSymbolicLink());
  t.equal(await readFile(real, 'utf8'), tight);
});

t.test('--check and --stdout write nothing', async (t) => {
  const path = await file('c.yaml', loose);
  const good = await file('good.yaml', tight);
  t.same(await fmt([path, good], { check: true }), { code: 1, output: `${path}: not formatted\n${good}: formatted\n`, complaints: [] });
  t.match(await fmt([good], { check: true }), { code: 0 });
  t.same(await fmt([path], { stdout: true }), { code: 0, output: tight, complaints: [] });
  t.equal(await readFile(path, 'utf8'), loose);
});

t.test('what cannot be formatted is left alone and told, the others are formatted', async (t) => {
  const broken = await file('broken.yaml', '- a: [\n');
  const binary = await file('binary.yaml', Buffer.from([0x2d, 0x20, 0xff, 0x0a]));
  const json = await file('caps.json', '[]\n');
  const large = await file('large.yaml', `# ${'x'.repeat(2_000_000)}\n[]\n`);
  const fine = await file('fine.yaml', loose);
  const { code, output, complaints = [] } = await fmt([broken, join(dir, 'nope'), binary, json, large, dir, fine]);
  t.equal(code, 2);
  t.equal(output, `${fine}: formatted\n`);
  const expected = [/^.*broken\.yaml: left as it is, .*\n.*broken\.yaml:2:1: .*\[yaml_syntax\]\n {4}2 \|/, /nope: no such file$/, /binary\.yaml:1:3: .*not UTF-8/, /caps\.json: is JSON/, /large\.yaml: .*\n.*\[document_too_large\]/, /: is a directory$/];
  t.equal(complaints.length, expected.length);
  for (const [index, pattern] of expected.entries()) t.match(complaints[index], pattern);
  t.equal(await readFile(broken, 'utf8'), '- a: [\n');
  t.match(await fmt([broken], { check: true }), { code: 2, output: '' }, 'not 1, which says that it can be formatted');
});

t.test('wrong usage', async (t) => {
  for (const [names, options] of [[['a', 'b'], { stdout: true }], [['-', 'a'], {}], [['-', '-'], { check: true }], [['a'], { check: true, stdout: true }]] as const) await t.rejects(fmt(names, options), UsageError);
});

t.test('a write that fails leaves nothing behind', async (t) => {
  await mkdir(join(dir, 'target'));
  await writeFile(join(dir, 'target', 'x'), '');
  await t.rejects(replaceFile(join(dir, 'target'), tight), UsageError, 'a folder is not replaced by a file');
  t.same((await readdir(dir)).filter((name) => name.endsWith('.tmp')), []);
});
