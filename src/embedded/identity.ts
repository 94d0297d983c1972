import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { findOnPath } from './find-on-path.ts';

/** The ordinary user a service runs as when we are root. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
  readonly setprivArgs: readonly string[];
}

// Bits of the capability sets in /proc/self/status. Both let a process enter directories that its user may not; containers
// usually have the second only.
const searchCapabilities = [{ name: 'dac_read_search', bit: 2n }, { name: 'dac_override', bit: 1n }] as const;

/**
 * The user that a program which refuses root shall run as: undefined when we are not root, `nobody` otherwise.
 *
 * `paths` are what it must reach (its binaries, its data). A checkout or data directory below a 0700 directory such as /root is
 * common, and `nobody` cannot enter it. Then the program is given the one capability to pass directories, and still none to write
 * what is not its own where that is available. Throws with a way out where neither works.
 */
export async function ordinaryIdentity(paths: readonly string[]): Promise<Identity | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = await nobody();
  const plain = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups'];
  const closed = await firstClosedDirectory(paths, uid, gid);
  if (closed === undefined) return { uid, gid, setprivArgs: plain };
  const capability = findOnPath('setpriv') === undefined ? undefined : await searchCapability();
  if (capability === undefined) {
    throw new Error(`Postgres refuses to run as root, and the user nobody (uid ${uid}) cannot enter ${closed}. `
      + `Allow it with \`chmod o+x ${closed}\`, put the data directory elsewhere, or run as an ordinary user.`);
  }
  return { uid, gid, setprivArgs: [...plain, '--inh-caps', `+${capability}`, '--ambient-caps', `+${capability}`] };
}

async function nobody(): Promise<{ uid: number; gid: number }> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const [, uid = '65534', gid = '65534'] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(passwd) ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

async function firstClosedDirectory(paths: readonly string[], uid: number, gid: number): Promise<string | undefined> {
  for (const path of paths) {
    const ancestors: string[] = [];
    for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
      ancestors.unshift(folder);
      if (folder === dirname(folder)) break;
    }
    for (const folder of ancestors) {
      const { mode, uid: owner, gid: group } = await stat(folder);
      const searchBit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001;
      if ((mode & searchBit) === 0) return folder;
    }
  }
  return undefined;
}

async function searchCapability(): Promise<string | undefined> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const permitted = BigInt(`0x${/^CapPrm:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  return searchCapabilities.find(({ bit }) => (permitted & (1n << bit)) !== 0n)?.name;
}
