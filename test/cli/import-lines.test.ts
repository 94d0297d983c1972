import fc from 'fast-check';
import t from 'tap';
import { jsonFaultAt } from '../../src/cli/import/json-fault.ts';
import type { InputLine, LineChunk } from '../../src/cli/import/lines.ts';
import { chunkLines, lineBytesMax, readFromStream, readLineChunks } from '../../src/cli/import/lines.ts';
import { parseRow } from '../../src/cli/import/parse-row.ts';
import type { RowOutcome } from '../../src/cli/import/parse-row.ts';
import { sampleEvent } from '../support/sample-events.ts';

async function* pieces(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0;
  for (let n = 0; at < bytes.length; n += 1) {
    const size = sizes[n % sizes.length] ?? bytes.length;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function chunksOf(bytes: Buffer, sizes: readonly number[] = [65_536], startOffset = 0): Promise<LineChunk[]> {
  const chunks: LineChunk[] = [];
  for await (const chunk of readLineChunks(readFromStream(pieces(bytes.subarray(startOffset), sizes)), startOffset)) chunks.push(chunk);
  return chunks;
}

const texts = (chunks: readonly LineChunk[]): InputLine[] => chunks.flatMap((chunk) => [...chunk.lines]);

t.test('lines are those of the file, however it is read', async (t) => {
  const line = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.replaceAll('\n', ' ')), fc.constant(''), fc.constant('{"a":1}\r'));
  await fc.assert(fc.asyncProperty(fc.array(line, { maxLength: 60 }), fc.boolean(), fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 }), async (lines, ends, sizes) => {
    // Lone surrogates are no UTF-8; what a file can hold is their replacement.
    const wanted = lines.map((text) => text.toWellFormed());
    const bytes = Buffer.from(wanted.join('\n') + (ends && wanted.length > 0 ? '\n' : ''));
    const chunks = await chunksOf(bytes, sizes);
    t.equal(chunks.at(-1)?.endOffset, bytes.length);
    const expected = bytes.length === 0 ? [] : (bytes.at(-1) === 10 ? bytes.subarray(0, -1) : bytes).toString().split('\n');
    t.same(texts(chunks).map((one) => one.text), expected);
  }), { numRuns: 200 });
});

t.test('chunks are the same from every chunk\'s start: what a resumed import relies on', async (t) => {
  const short = Array.from({ length: 25_000 }, (_, n) => `{"n":${n}}\n`).join('');
  const middle = Array.from({ length: 40_000 }, (_, n) => `{"n":${n},"pad":"${'x'.repeat(n % 900)}"}\n`).join('');
  const wide = Array.from({ length: 12 }, (_, n) => `"${'w'.repeat(lineBytesMax - 100 * n)}"\n`).join('');
  for (const file of [short, middle, wide, wide + short, middle + wide + short, short + 'v'.repeat(lineBytesMax * 3) + middle]) {
    const bytes = Buffer.from(file);
    const chunks = await chunksOf(bytes);
    t.equal(chunks.at(-1)?.endOffset, bytes.length);
    t.ok(chunks.every((chunk) => chunk.lines.length <= chunkLines));
    for (const [at, { endOffset }] of chunks.slice(0, -1).entries()) {
      const again = await chunksOf(bytes, [1_000_003], endOffset);
      t.same(again.map((one) => [one.endOffset, one.lines.length]), chunks.slice(at + 1).map((one) => [one.endOffset, one.lines.length]));
    }
  }
});

t.test('a line over the limit is one rejected line, and its neighbours are kept', async (t) => {
  const long = 'y'.repeat(lineBytesMax + 1);
  const fits = 'z'.repeat(lineBytesMax);
  for (const [file, expected] of [
    [`a\n${long}\nb\n${fits}\nc`, ['a', '!', 'b', 'fits', 'c']],
    [`${long}${long}${long}\na`, ['!', 'a']],
    [`a\n${long}${long}`, ['a', '!']],
    [`${long}\n${long}\n`, ['!', '!']],
  ] as const) {
    const lines = texts(await chunksOf(Buffer.from(file)));
    t.same(lines.map((line) => (line.problem !== undefined ? '!' : line.text === fits ? 'fits' : line.text)), [...expected]);
    t.ok(lines.every((line) => line.problem === undefined || /longer than 2097152 bytes/.test(line.problem)));
  }
});

t.test('bytes that are no UTF-8 reject their line only', async (t) => {
  const lines = texts(await chunksOf(Buffer.concat([Buffer.from('{"ä":1}\n'), Buffer.from([0x22, 0xff, 0x22, 0x0a]), Buffer.from('{"b":2}\n')])));
  t.same(lines, [{ text: '{"ä":1}' }, { text: '', problem: 'line: not UTF-8 text' }, { text: '{"b":2}' }]);
});

t.test('the place where JSON breaks', async (t) => {
  for (const [text, at] of [['{"a":x}', 5], ['{"a":1', 6], ['{"a" 1}', 5], ['[1,]', 3], ['{"a":1,}', 7], ['{} x', 3], ['', 0], ['[[[', 3], ['{"a":01}', 6], ['[1 2]', 3], ['{"a":{"b":[1,{]}}', 14]] as const) {
    t.throws(() => JSON.parse(text) as unknown);
    t.equal(jsonFaultAt(text), at, text);
  }
  fc.assert(fc.property(fc.json({ maxDepth: 4 }), fc.nat(), (json, cut) => {
    // A sound text is sound to its end; cut short it breaks at the cut or at the start of the scalar that was cut.
    if (jsonFaultAt(json) !== json.length) return false;
    const head = json.slice(0, cut % (json.length + 1));
    return jsonFaultAt(head) <= head.length;
  }), { numRuns: 300 });
});

const known = '01900000-0000-7000-8000-000000000001';
const other = '01900000-0000-7000-8000-000000000002';
const deps = { org: undefined, retentionOf: (org: string) => (org === known ? 30 : org === other ? Promise.resolve(7) : undefined) };

async function outcome(text: string, org?: string): Promise<RowOutcome> {
  return parseRow(text, { ...deps, org });
}
async function problems(row: unknown, org?: string): Promise<readonly string[]> {
  const result = await outcome(typeof row === 'string' ? row : JSON.stringify(row), org);
  if (result === 'blank' || !('problems' in result)) throw new Error('accepted');
  return result.problems;
}

t.test('a row is kept as it is, its time in UTC with microseconds', async (t) => {
  const event = sampleEvent('policy_decision', { org_id: known, timestamp: '2026-11-20T12:30:00.5+02:30' });
  const result = await outcome(JSON.stringify(event));
  if (result === 'blank' || !('row' in result)) throw new Error('rejected');
  t.match(result.row, { id: event.id, orgId: known, timestamp: '2026-11-20T10:00:00.500000Z' });
  t.match(JSON.parse(result.row.line), { org_id: known, id: event.id, timestamp: '2026-11-20 10:00:00.500000', source_seq: event.source_seq, retention_days: 30 });
});

t.test('empty and null columns are absent, ids may be upper case, --org wins', async (t) => {
  const event = { ...sampleEvent('policy_decision', { org_id: known }), decision: '', reason: null, task_id: '' };
  const result = await outcome(JSON.stringify({ ...event, id: event.id.toUpperCase() }), other);
  if (result === 'blank' || !('row' in result)) throw new Error('rejected');
  const line = JSON.parse(result.row.line) as Record<string, unknown>;
  t.match(line, { org_id: other, id: event.id, retention_days: 7 });
  t.notOk('decision' in line || 'reason' in line || 'task_id' in line);
  const { org_id: _, ...orgless } = sampleEvent('secret_created');
  t.match(await outcome(JSON.stringify(orgless), known), { row: { orgId: known } });
});

t.test('what is wrong with a line, naming field or column and no value', async (t) => {
  const event = sampleEvent('policy_decision', { org_id: known });
  t.equal(await outcome('   \r'), 'blank');
  t.same(await problems('{"a":'), ['line: not JSON: ends too early (column 6)']);
  t.same(await problems('{"secret":tru}'), ['line: not JSON (column 11)']);
  t.same(await problems('[]'), ['row: must be a JSON object']);
  t.same(await problems('null'), ['row: must be a JSON object']);
  t.same(await problems({ ...event, org_id: '01900000-0000-7000-8000-00000000dead' }), ['org_id: no such org']);
  for (const field of ['id', 'org_id', 'user_id', 'timestamp', 'source_seq', 'category', 'actor', 'event_type']) {
    const { [field as 'id']: _, ...rest } = event;
    t.same(await problems(rest), [`${field}: required`]);
  }
  t.match(await problems({ ...event, timestamp: '2026-02-30T00:00:00Z' }), [/^timestamp: must be an RFC 3339 date-time/]);
  t.match(await problems({ ...event, id: '01900000-0000-4000-8000-000000000001' }), [/^id: must be a UUIDv7/]);
  t.match(await problems({ ...event, latency_ms: -1, decision: 'secret' }), [/^decision: must be one of allow, deny$/, /^latency_ms: /]);
  t.same(await problems({ ...event, colour: 'secret' }), ['colour: not a known field']);
  t.same(await problems(`${JSON.stringify(event).slice(0, -1)},"__proto__":{"a":1}}`), ['__proto__: not a known field']);
  const many = await problems({ ...event, ...Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}${'x'.repeat(1000)}`, 1])) });
  t.ok(many.length <= 20 && many.every((text) => text.length <= 300), 'a hostile line does not make a huge report');
});
