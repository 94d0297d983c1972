import { readFileSync, readdirSync } from 'node:fs';

export type Proc = { readonly pid: number; readonly parent: number; readonly name: string; readonly startedAt: string };

function read(pid: number): Proc | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended; it waits for whoever started it to ask.
    if (fields[0] === 'Z') return undefined;
    return { pid, parent: Number(fields[1]), name: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')), startedAt: fields[19] ?? '' };
  } catch {
    // Ended between the look at the folder and the look at the file.
    return undefined;
  }
}

/** Every process below `pid`, itself included: what must be gone when it is. */
export function familyOf(pid: number): Proc[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((name) => read(Number(name))).filter((found) => found !== undefined);
  const family = new Set([pid]);
  for (let before = 0; before !== family.size;) {
    before = family.size;
    for (const one of all) if (family.has(one.parent)) family.add(one.pid);
  }
  return all.filter((one) => family.has(one.pid));
}

/** Those that still live: same number, same start. */
export function stillAlive(procs: readonly Proc[]): Proc[] {
  return procs.filter(({ pid, startedAt }) => read(pid)?.startedAt === startedAt);
}
