import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { tempDir } from './journal-fixture.ts';

const execute = promisify(execFile);
/** Takes off what the test runner adds to every Node process: it writes files of its own and catches signals. */
const plainNode = 'unset NODE_OPTIONS';

/** Runs the child on a tmpfs of 3 MiB in a private mount namespace, which an ordinary user may make too (`-r`). */
async function onSmallDisk(base: string, mode: string): Promise<Record<string, unknown>> {
  await mkdir(base, { recursive: true });
  const mount = 'mount -t tmpfs -o size=3m tmpfs "$1"';
  const asUser = await execute('unshare', ['-rm', 'sh', '-c', mount, 'sh', base]).then(() => true, () => false);
  const run = ['sh', '-c', `${plainNode}; ${mount} && exec "$2" "$3" "$1" "$4"`, 'sh', base, process.execPath, join(import.meta.dirname, 'full-disk-child.ts'), mode];
  const { stdout } = await execute('unshare', [asUser ? '-rm' : '-m', ...run]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

t.test('a disk that the journal itself filled', async (t) => {
  const report = await onSmallDisk(join(await tempDir(t), 'disk'), 'journal');
  t.match(report, { refused: 'ENOSPC', intentRefused: 'ENOSPC', sealed: 'sealed', kept: true, later: 'accepted', closed: 'closed' }, 'refused with the reason, still able to seal what it holds, and working again after a confirmation');
  t.same(report['refusedAgain'], Array.from({ length: 10 }, () => 'ENOSPC'));
  t.same([report['lost'], report['surplus'], report['twice']], [[], [], 0], 'what was accepted is there once, what was refused is not');
});

t.test('a disk that somebody else filled', async (t) => {
  const report = await onSmallDisk(join(await tempDir(t), 'disk'), 'others');
  t.match(report, { refused: 'ENOSPC', sealed: 'sealed', kept: true, later: 'accepted', closed: 'closed' });
  t.same([report['lost'], report['surplus'], report['twice']], [[], [], 0]);
  t.ok(Number(report['accepted']) >= 21, 'rows from before are among them');
});

t.test('a write that fails half way leaves nothing of itself in the segment', async (t) => {
  const dir = await tempDir(t);
  // A limit on the size of a file makes the write that crosses it come back short, and the rest of it fail.
  const limited = ['-c', `${plainNode}; trap "" XFSZ; ulimit -f 128; exec "$@"`, 'sh', process.execPath, join(import.meta.dirname, 'short-write-child.ts'), dir];
  const { stdout } = await execute('sh', limited);
  const content = await readFile(join(dir, 'open-000000000001.log'), 'utf8');
  t.same(JSON.parse(stdout), ['written', 'EFBIG', 'EFBIG', 'written']);
  t.equal(content, 'a'.repeat(60_000) + 'c'.repeat(1_000));
});
