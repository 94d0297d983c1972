import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Session } from 'chdb';
import fc from 'fast-check';
import t from 'tap';
import type { ColumnKind } from '../../src/events/columns.ts';
import { columns } from '../../src/events/columns.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import { batchSuffix, decodeRow, encodeLine, stampLine } from '../../src/events/line.ts';
import { rowProblems } from '../../src/events/schema.ts';
import { parseJson } from '../../src/kernel/json.ts';
import { sampleEvent } from '../support/sample-events.ts';

const types: Record<ColumnKind, string> = {
  uuid: 'UUID', text: 'String', time: "DateTime64(6, \\'UTC\\')", seq: 'Int64', count: 'UInt32', json: 'String',
  integers: 'Map(String, Int64)', values: 'Map(String, String)', texts: 'Map(String, String)', list: 'Array(String)',
};
const structure = columns.map(({ name, kind }) => `${name} ${types[kind]}`).join(', ');
const suffix = batchSuffix({ ingestedAtMs: 0, producer: 'p', batchId: '01900000-0000-7000-8000-00000000000a', batchNo: 1, batchRows: 1 });

/** Reads the lines with ClickHouse's own JSONEachRow parser and gives the rows as it answers them. */
async function throughClickHouse(session: Session, dir: string, events: readonly AuditEvent[]): Promise<AuditEvent[]> {
  const file = join(dir, 'lines.ndjson');
  await writeFile(file, events.map((event) => `${stampLine(encodeLine(event, 400), suffix)}\n`).join(''));
  const answer = session.query(
    `SELECT * FROM file('${file}', JSONEachRow, '${structure}') SETTINGS output_format_json_quote_64bit_integers = 1, input_format_skip_unknown_fields = 1, max_threads = 1`, 'JSONEachRow');
  return answer.trimEnd().split('\n').map((line) => decodeRow(parseJson(line) as Record<string, unknown>));
}

t.test('ClickHouse takes every line and answers the same row', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'customhouse-line-'));
  const session = new Session(join(dir, 'data'));
  t.teardown(async () => {
    session.cleanup();
    await rm(dir, { recursive: true, force: true });
  });
  const text = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1 }),
    fc.string({ unit: fc.constantFrom('\ud800', '\udfff', '\\', 'ud800', '"', '\n', '\0', '\u2028', '\ufeff', '{', '\ufffd', '😀', '/', "'", '\t', '\u001f', '\u007f'), minLength: 1 }),
    fc.constantFrom('__proto__', 'constructor', 'null', '\\N', 'NULL', 'true', '1e400'),
  );
  const map = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> => fc.dictionary(text, value, { minKeys: 1, maxKeys: 4 });
  // The schema lets no name into a map column that needs an escape.
  const column = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> => fc.dictionary(text.filter((name) => !/[\u0000-\u001f"\\]/.test(name)), value, { minKeys: 1, maxKeys: 4 });
  const json = fc.oneof(fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }).map((value) => parseJson(JSON.stringify(value))), text, fc.constantFrom(1e308, 5e-324, 2 ** 63));
  const changes = fc.record({
    path: text, user_id: text, workspace_id: text, detail: map(json), budget_state: column(json), auth_used: fc.array(text, { minLength: 1, maxLength: 3 }),
    debits: column(fc.oneof(fc.maxSafeInteger(), fc.constantFrom(Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER))), source_seq: fc.nat(Number.MAX_SAFE_INTEGER), latency_ms: fc.nat(4_294_967_295),
    timestamp: fc.constantFrom('1970-01-01T00:00:00.000000Z', '2026-11-20T10:00:00.000001Z', '2199-12-31T23:59:59.999999Z'),
  });
  await fc.assert(fc.asyncProperty(fc.array(changes, { minLength: 20, maxLength: 60 }), async (rows) => {
    const events = rows.map((row) => sampleEvent('policy_decision', row));
    const back = await throughClickHouse(session, dir, events);
    if (back.length !== events.length) throw new Error(`${back.length} rows of ${events.length}`);
    for (const [at, event] of events.entries()) {
      // What the codec makes of a row without ClickHouse is held to the row itself in line.test.ts.
      const expected = decodeRow(parseJson(encodeLine(event, 400)) as Record<string, unknown>);
      const answered = back[at] ?? {};
      if (!isDeepStrictEqual(answered, expected)) throw new Error(`row ${at}: ${JSON.stringify(answered)} for ${JSON.stringify(expected)}`);
      if (rowProblems(answered, { strict: false }).length > 0) throw new Error(`row ${at} breaks the catalog`);
    }
  }), { numRuns: 25 });
  t.pass('25 batches of up to 60 rows');
});
