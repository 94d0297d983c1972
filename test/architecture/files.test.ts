import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../..');
const linesMax = 350;

/** What git has or would take: no build products, no data directories. */
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1_048_576 }).split('\0').filter((name) => name !== '');
const sources = files.filter((name) => /^(src|workers)\/.*\.ts$/.test(name));

function read(name: string): string | undefined {
  try {
    return readFileSync(join(root, name), 'utf8');
  } catch (error) {
    // Deleted, and the deletion not committed yet.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

t.test(`no file of src or workers is longer than ${linesMax} lines`, async (t) => {
  t.ok(sources.length > 30, `${sources.length} files`);
  const long = sources.map((name) => ({ name, lines: (read(name) ?? '').split('\n').length - 1 })).filter(({ lines }) => lines > linesMax);
  t.same(long, []);
});

t.test('no file names a place on somebody\'s machine', async (t) => {
  // Written in parts, so that this file is not one of them. Tests may name /tmp to something that must not write there.
  const places = new RegExp(['/', '(?:', ['root', 'home/[a-z]', 'Users/[A-Za-z]', 'work', 'workspace', 'mnt', 'private/var'].join('|'), ')/', '[A-Za-z0-9._-]'].join(''));
  const temporary = new RegExp(['["\'`]/', 'tmp/', '[a-z]'].join(''));
  const found: string[] = [];
  for (const name of files.filter((file) => !/^(package-lock\.json|LICENSE)$/.test(file))) {
    for (const [at, line] of (read(name) ?? '').split('\n').entries()) {
      const path = places.exec(line.replaceAll(/https?:\/\/\S+/g, '')) ?? (sources.includes(name) ? temporary.exec(line) : null);
      if (path !== null && (path.index === 0 || !/[\w.}\])*-]/.test(line[path.index - 1] ?? ''))) found.push(`${name}:${at + 1}: ${line.trim().slice(0, 120)}`);
    }
  }
  t.same(found, []);
});

t.test('the lock file holds no registry address', async (t) => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, { resolved?: string; version?: string; integrity?: string }> };
  t.same(Object.entries(lock.packages).filter(([, entry]) => entry.resolved !== undefined).map(([name]) => name), []);
});

t.test('the lock file is complete: npm ci refuses it otherwise', async (t) => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, { dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> }> };
  const missing: string[] = [];
  for (const [from, entry] of Object.entries(lock.packages)) {
    for (const name of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })) {
      // As Node resolves: in the package's own folder, then in every folder above it.
      const folders = from.split(/(?:^|\/)node_modules\//).map((_part, index, parts) => parts.slice(0, parts.length - index).filter((part) => part !== '').map((part) => `node_modules/${part}/`).join(''));
      if (!folders.some((folder) => Object.hasOwn(lock.packages, `${folder}node_modules/${name}`))) missing.push(`${from} needs ${name}`);
    }
  }
  t.same(missing, []);
});

t.test('names of files', async (t) => {
  for (const name of sources) {
    t.match(basename(name), /^[a-z0-9]+(-[a-z0-9]+)*\.ts$/, name);
    t.notMatch(name, /(^|\/)(utils?|helpers?|common|index|misc)(\/|\.ts$)/, name);
  }
});

t.test('no promise of later work, and no switched-off type checks', async (t) => {
  const words = new RegExp(['TO' + 'DO', 'FIX' + 'ME', '@ts-' + 'ignore', '@ts-' + 'nocheck'].join('|'));
  const found = files.filter((name) => /^(src|workers|test|bench|scripts)\/.*\.ts$/.test(name)).flatMap((name) => (read(name) ?? '').split('\n').flatMap((line, at) => (words.test(line) ? [`${name}:${at + 1}: ${line.trim()}`] : [])));
  t.same(found, []);
});
