// Writes a segment under a limit of 64 KiB on the size of a file, and prints what became of each write.
import { systemCode } from '../../src/journal/journal-error.ts';
import { openSegmentFile } from '../../src/journal/segment-file.ts';

const file = await openSegmentFile(process.argv[2] ?? '', 1, 0);
const results: string[] = [];
for (const [letter, bytes] of [['a', 60_000], ['b', 20_000], ['b', 9_000], ['c', 1_000]] as const) {
  results.push(await file.write(Buffer.alloc(bytes, letter), { sync: false }).then(() => 'written', systemCode));
}
await file.close();
console.log(JSON.stringify(results));
