import t from 'tap';
import fc from 'fast-check';
import { filterableColumns } from '../../../src/events/columns.ts';
import { parseTimestamp } from '../../../src/kernel/clock.ts';
import { compileMatcher } from '../../../src/query/match.ts';
import { filterPredicate, parseFilters } from '../../../src/query/filter.ts';
import type { Predicate } from '../../../src/query/predicate.ts';
import { allOf } from '../../../src/query/predicate.ts';
import { SqlParams, compilePredicate } from '../../../src/query/sql.ts';
import { eventVisibility } from '../../../src/query/visibility.ts';
import type { AuditTable } from './audit-table.ts';
import { openAuditTable } from './audit-table.ts';
import { counters, orgA, orgB, randomEvents, startMicros, trickyTexts } from './random-events.ts';

const events = randomEvents(600, { seed: 1, orgId: orgA });

const value = fc.oneof(
  fc.constantFrom('a', 'b', 'allow', 'deny', 'GET', 'audit', 'activity', 'policy_decision', 'tool_call', 'ws_1', 'ws_2', 'agent', 'http', ...counters, ...trickyTexts),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).filter((text) => !text.includes('\0')),
);
/** Times that rows have, where inclusive and exclusive bounds differ. */
const stored = fc.constantFrom(...events.map(({ timestamp }) => parseTimestamp(timestamp) ?? 0));
const leaf = fc.oneof(
  fc.record({ in: fc.constantFrom(...filterableColumns, 'user_id', 'reason'), values: fc.array(value, { maxLength: 3 }) }),
  fc.record({ populated: fc.constantFrom(...filterableColumns) }),
  fc.record({ since: fc.integer({ min: startMicros - 10, max: startMicros + 3_600_000_000 }) }),
  fc.record({ until: fc.integer({ min: startMicros - 10, max: startMicros + 3_600_000_000 }) }),
  fc.record({ since: stored }),
  fc.record({ until: stored }),
  fc.boolean(),
);
const { tree } = fc.letrec<{ tree: Predicate }>((tie) => ({
  tree: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf,
    fc.record({ and: fc.array(tie('tree'), { maxLength: 3 }) }), fc.record({ or: fc.array(tie('tree'), { maxLength: 3 }) }), fc.record({ not: tie('tree') })),
}));

/** Ids of the org's rows for many predicates in one round trip: one column for each. */
async function idsBySql(table: AuditTable, predicates: readonly Predicate[]): Promise<string[][]> {
  const params = new SqlParams();
  const org = params.add('String', orgA);
  const selected = predicates.map((predicate, index) => `groupArrayIf(id, ${compilePredicate(predicate, params)}) AS c${index}`);
  const result = await table.clickhouse.client.query({ query: `SELECT ${selected.join(', ')} FROM ${table.clickhouse.events} WHERE org_id = ${org}`, query_params: params.values, format: 'JSONEachRow' });
  const [row] = await result.json<Record<string, string[]>>();
  return predicates.map((_, index) => (row?.[`c${index}`] ?? []).toSorted());
}

t.test('the SQL and the function agree on every row', async (t) => {
  const table = await openAuditTable(t);
  await table.insert([...events, ...randomEvents(50, { seed: 2, orgId: orgB })]);

  await fc.assert(fc.asyncProperty(fc.array(tree, { minLength: 10, maxLength: 10 }), async (predicates) => {
    const bySql = await idsBySql(table, predicates);
    predicates.forEach((predicate, index) => {
      const byFunction = events.filter(compileMatcher(predicate)).map(({ id }) => id).toSorted();
      if (JSON.stringify(byFunction) !== JSON.stringify(bySql[index])) throw new Error(`differ on ${JSON.stringify(predicate)}: ${byFunction.length} and ${bySql[index]?.length}`);
    });
  }), { numRuns: 60 });

  t.test('also through filters as callers write them', async (t) => {
    const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll(',', '\\,');
    const texts = filterableColumns.flatMap((column) => [
      `${column}!=`, `${column}=a`, `${column}!=a`, `${column}=a,b,${escaped(trickyTexts.join(''))}`, `${column}!=${trickyTexts.map(escaped).join(',')}`,
      ...(column === 'counter' ? counters.flatMap((counter) => [`counter=${counter}`, `counter!=${counter}`, `counter=${counter},requests`, `counter!=${counter},requests`]) : []),
      ...trickyTexts.slice(0, 6).map((text) => `${column}=${escaped(text)}`),
    ]);
    const predicates = texts.map((text) => filterPredicate(parseFilters([text])));
    let found = 0;
    for (let at = 0; at < predicates.length; at += 25) {
      const part = predicates.slice(at, at + 25);
      const bySql = await idsBySql(table, part);
      part.forEach((predicate, index) => {
        const byFunction = events.filter(compileMatcher(predicate)).map(({ id }) => id).toSorted();
        t.same(bySql[index], byFunction, String(texts[at + index]));
        found += byFunction.length;
      });
    }
    t.ok(found > 10_000, 'the filters find rows');
  });

  t.test('an absent column is not in any list', async (t) => {
    const [without] = await idsBySql(table, [filterPredicate(parseFilters(['destination!=a', 'counter!=tokens']))]);
    const expected = events.filter((event) => event.destination !== 'a' && !Object.keys({ ...event.debits, ...event.budget_state }).includes('tokens')).map(({ id }) => id).toSorted();
    t.same(without, expected);
    t.ok(expected.some((id) => events.find((event) => event.id === id)?.destination === undefined), 'rows without a destination are among them');
  });

  t.test('visibility', async (t) => {
    const scopeSets = [['audit:read'], ['audit:read:own'], ['workspace:read'], ['workspace:read:own'], ['audit:read:own', 'workspace:read:own'], ['audit:read:own', 'workspace:read']];
    const predicates = scopeSets.map((scopes) => allOf([eventVisibility({ userId: 'me', scopes: new Set(scopes) }, ['ws_1', 'ws_3']).predicate, { in: 'actor', values: ['agent', 'control-plane'] }]));
    const bySql = await idsBySql(table, predicates);
    predicates.forEach((predicate, index) => t.same(bySql[index], events.filter(compileMatcher(predicate)).map(({ id }) => id).toSorted(), String(scopeSets[index])));
  });

  t.test('thousands of values are sent, too', async (t) => {
    const many = Array.from({ length: 5000 }, (_, index) => `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`);
    const page = await table.reader.page(orgA, { predicate: { in: 'workspace_id', values: [...many, 'ws_1'] }, order: 'asc', limit: 1000, after: undefined, cursorFor: () => '' });
    t.equal(page.events.length, events.filter((event) => event.workspace_id === 'ws_1').length);
  });
});
