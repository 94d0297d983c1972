// Fills the disk that its directory lies on with a journal (and with a file of somebody else), and reports what happened as JSON.
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { JournalWriteError } from '../../src/journal/journal-error.ts';
import type { Journal } from '../../src/journal/journal.ts';
import { names, open, row } from './journal-fixture.ts';

const [base = '', mode = ''] = process.argv.slice(2);
const dir = join(base, 'journal');
// Nothing is sealed while somebody else fills the disk: he could take the very room that sealing frees for itself.
const options = { sealBytes: 128 * 1024, sealMs: mode === 'others' ? 600_000 : 50 };
const code = (error: unknown): string => error instanceof JournalWriteError ? error.code : String(error);

/** A row of about 1,500 bytes that does not compress. */
async function append(journal: Journal, name: string): Promise<string | undefined> {
  const { line, timestamp } = row(name);
  const noise = line.replace('"event_type"', `"task_id":"${randomBytes(900).toString('base64')}","event_type"`);
  return journal.append(noise, timestamp).then(() => undefined, code);
}

async function appendUntilRefused(journal: Journal, prefix: string, accepted: string[]): Promise<string> {
  for (let count = 0; ; count++) {
    const refused = await append(journal, `${prefix}${count}`);
    if (refused !== undefined) return refused;
    accepted.push(`${prefix}${count}`);
  }
}

async function fill(): Promise<void> {
  for (let bytes = 1_048_576; bytes >= 4096; bytes = Math.floor(bytes / 2)) {
    for (let part = 0; ; part++) {
      const path = join(base, `filler-${bytes}-${part}`);
      try {
        await writeFile(path, randomBytes(bytes));
      } catch {
        break;
      }
    }
  }
}

const report: Record<string, unknown> = {};
const accepted: string[] = [];
const errors: string[] = [];
let journal = await open(dir, { ...options, onError: (error) => errors.push(code(error)) });

if (mode === 'others') {
  for (let count = 0; count < 20; count++) if (await append(journal, `early${count}`) === undefined) accepted.push(`early${count}`);
  await fill();
}
report['refused'] = await appendUntilRefused(journal, 'a', accepted);
report['sealed'] = await journal.seal().then(() => 'sealed', code);
// Sealing compresses, which makes room again: go on until it makes none.
for (let round = 0, before = -1; before < accepted.length; round++) {
  before = accepted.length;
  await appendUntilRefused(journal, `b${round}-`, accepted);
  await journal.seal();
}
report['refusedAgain'] = await Promise.all(Array.from({ length: 10 }, (_, index) => append(journal, `refused${index}`)));
report['intentRefused'] = await journal.intent('i', row('refused-intent', 6000).line, row('').timestamp).then(() => 'accepted', code);
report['kept'] = JSON.stringify(await names(journal.source)) === JSON.stringify(accepted);
if (mode === 'others') await rm(join(base, 'filler-1048576-0'));
else for (const { id, rows } of (await journal.source.pending(6))) {
  await journal.source.confirm(id);
  accepted.splice(0, rows);
}
await new Promise((resolve) => setTimeout(resolve, 200));
report['later'] = await append(journal, 'later') ?? 'accepted';
accepted.push('later');
report['closed'] = await journal.close().then(() => 'closed', code);
journal = await open(dir, { ...options, onError: (error) => errors.push(code(error)) });
const found = await names(journal.source);
report['lost'] = accepted.filter((name) => !found.includes(name));
report['surplus'] = found.filter((name) => !accepted.includes(name));
report['twice'] = found.length - new Set(found).size;
report['accepted'] = accepted.length;
report['errors'] = [...new Set(errors)];
await journal.close();
console.log(JSON.stringify(report));
