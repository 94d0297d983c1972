import t from 'tap';
import { conformanceFigures, conformanceResults } from './conformance.ts';
import { evaluationExceptions, extensionsNotOffered, typeExceptions } from './conformance-exceptions.ts';

// The official cases of CEL (google/cel-spec v0.25.1) that need no protobuf message, through our own path: parse, check, emit, evaluate.

const results = conformanceResults();

t.test('every case evaluates to what the suite says, or is a written exception', async (t) => {
  for (const { id, expr, detail } of results.evaluation.filter(({ outcome }) => outcome === 'failed')) t.fail(`${id}: ${expr}: ${detail}`);
  t.ok(results.evaluation.length > 1_600, 'the suite was read');
  t.ok(results.evaluation.filter(({ outcome }) => outcome === 'passed').length > 1_300);
});

t.test('the checker finds the types that cel-go recorded, and refuses what it refused', async (t) => {
  for (const { id, expr, detail } of results.types.filter(({ outcome }) => outcome === 'failed')) t.fail(`${id}: ${expr}: ${detail}`);
  t.ok(results.types.length > 1_100, 'types were compared');
});

t.test('every exception is a case of the suite', async (t) => {
  const evaluated = new Set(results.evaluation.map(({ id }) => id));
  const typed = new Set(results.types.map(({ id }) => id));
  t.same([...evaluationExceptions.keys()].filter((id) => !evaluated.has(id)), []);
  t.same([...typeExceptions.keys()].filter((id) => !typed.has(id)), []);
});

t.test('expressions of an extension that is not offered are refused, they never come to another value', async (t) => {
  const foreign = results.evaluation.filter(({ file }) => extensionsNotOffered.has(file));
  t.ok(foreign.some(({ outcome }) => outcome === 'refused'));
  t.same(foreign.filter(({ outcome }) => outcome !== 'refused' && outcome !== 'passed'), []);
});

t.test('the figures add up', async (t) => {
  const figures = conformanceFigures();
  for (const row of [...figures.evaluation, ...figures.types]) t.equal(row.passed + row.refused + row.exceptions + row.failed, row.run, row.file);
  const sum = figures.evaluation.reduce((total, { run }) => total + run, 0);
  t.equal(sum, results.evaluation.length);
  t.ok(sum <= figures.cases - figures.leftOut);
});
