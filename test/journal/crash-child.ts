// Appends rows and intents until it is killed; says on standard output what was acknowledged. Some batches are confirmed, after a
// link to them was put aside for the parent to read.
import { link, mkdir } from 'node:fs/promises';
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { pointerFileName } from '../../src/journal/sealed-file.ts';
import { open, row } from './journal-fixture.ts';

const [dir = '', aside = '', run = ''] = process.argv.slice(2);
await mkdir(aside, { recursive: true });
const journal = await open(dir, { sealMs: 3, sealRows: 40, fsync: Number(run) % 2 === 0 ? 'interval' : 'never' });

function say(what: string): void {
  writeSync(1, `${what}\n`);
}

async function ship(): Promise<void> {
  for (;;) {
    for (const batch of (await journal.source.pending(20)).slice(0, -3)) {
      const name = pointerFileName(batch);
      await link(join(dir, name), join(aside, name)).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      });
      await journal.source.confirm(batch.id);
    }
    await new Promise((resolve) => setTimeout(resolve, 7));
  }
}

async function serve(lane: number): Promise<void> {
  for (let count = 0; ; count++) {
    const name = `${run}-${lane}-${count}`;
    if (count % 3 !== 0) {
      await journal.append(row(name).line, row(name).timestamp);
      say(`row ${name}`);
      continue;
    }
    const interrupted = row(`${name}/interrupted`);
    await journal.intent(name, interrupted.line, interrupted.timestamp);
    say(`intent ${name}`);
    await new Promise((resolve) => setTimeout(resolve, count % 5));
    await journal.append(row(`${name}/done`).line, row(name).timestamp, { closes: name });
    say(`done ${name}`);
  }
}

say('open');
await Promise.all([ship(), ...Array.from({ length: 12 }, (_, lane) => serve(lane))]);
