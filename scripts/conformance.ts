// `npm run conformance`: the official cases of CEL and JSON Schema against what policies accept. Fails when one comes out otherwise than written down.
import Table from 'cli-table3';
import { conformanceFigures } from '../test/policy/cel/conformance.ts';
import { schemaConformanceResults, schemaFigures } from '../test/policy/schema/conformance.ts';

type Row = { readonly file: string; readonly run: number; readonly passed: number; readonly refused: number; readonly exceptions: number; readonly failed: number };

function print(title: string, rows: readonly Row[]): Row {
  const sum = (key: Exclude<keyof Row, 'file'>): number => rows.reduce((total, row) => total + row[key], 0);
  const total: Row = { file: 'all', run: sum('run'), passed: sum('passed'), refused: sum('refused'), exceptions: sum('exceptions'), failed: sum('failed') };
  const table = new Table({ head: ['file', 'cases', 'passed', 'refused when saved', 'known exceptions', 'failed'], style: { head: [], border: [] }, colAligns: ['left', 'right', 'right', 'right', 'right', 'right'] });
  for (const row of [...rows, total]) table.push([row.file, row.run, row.passed, row.refused, row.exceptions, row.failed].map(String));
  console.log(`\n${title}\n${table.toString()}`);
  return total;
}

const cel = conformanceFigures();
const totals = [
  print(`CEL, values: ${cel.suite}, ${cel.leftOut} of ${cel.cases} cases left out, as they need protobuf messages`, cel.evaluation),
  print('CEL, types found by the checker against those recorded in the suite', cel.types),
  print('JSON Schema draft 2020-12, required cases', schemaFigures(schemaConformanceResults())),
];
if (totals.some(({ failed }) => failed > 0)) process.exitCode = 1;
