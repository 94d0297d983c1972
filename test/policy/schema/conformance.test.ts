import t from 'tap';
import { caseExceptions, refusedSchemas } from './conformance-exceptions.ts';
import { schemaConformanceResults, schemaFigures } from './conformance.ts';

const results = schemaConformanceResults();

t.test('every required case of draft 2020-12 comes out as the suite says, or its schema is refused for a written reason', async (t) => {
  t.same(results.filter(({ outcome }) => outcome === 'failed'), []);
  t.ok(results.length > 1_050, 'the suite was read');
  t.ok(results.filter(({ outcome }) => outcome === 'passed').length > 860);
});

t.test('every exception is one of the suite', async (t) => {
  const ids = new Set(results.map(({ id }) => id));
  const groups = results.filter(({ outcome }) => outcome === 'refused').map(({ id }) => id);
  t.same([...refusedSchemas.keys()].filter((group) => !groups.some((id) => id.startsWith(`${group}/`))), []);
  t.same([...caseExceptions.keys()].filter((id) => !ids.has(id)), []);
});

t.test('the figures add up', async (t) => {
  const figures = schemaFigures(results);
  for (const row of figures) t.equal(row.passed + row.refused + row.exceptions + row.failed, row.run, row.file);
  t.equal(figures.reduce((sum, { run }) => sum + run, 0), results.length);
});
