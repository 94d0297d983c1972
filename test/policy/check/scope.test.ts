import fc from 'fast-check';
import t from 'tap';
import { readPolicyText } from '../../../src/policy/read-policy.ts';
import { countersWith } from '../contract/support/documents.ts';
import { checkMarked } from './support/marked.ts';

const counter = (...lines: readonly string[]) => countersWith(['name: calls', 'source: request.count', ...lines].join('\n'));
const read = (...lines: readonly string[]) => readPolicyText(counter(...lines)).policy?.document.capabilities[0]?.counters[0];

t.test('what a scope says', async (t) => {
  t.match(read('workspace: {max: 5, ttl: 1h}'), { workspace: { max: 5n, ttlMs: 3_600_000, path: 'capabilities[0].budgets.counters[0].workspace' }, task: undefined });
  t.match(read('task: {max: 0}'), { workspace: undefined, task: { max: 0n, ttlMs: undefined } });
  t.match(read('task: {max: 1, ttl: ""}'), { task: { max: 1n, ttlMs: undefined } });
  t.match(read('task: {max: 1, ttl: 1500us}'), { task: { ttlMs: 1 } });
});

t.test('fields of a scope', async (t) => {
  checkMarked(t, 'no max', counter('workspace: ‹missing_field|needs max›{ttl: 1h}'));
  checkMarked(t, 'empty', counter('workspace: ‹missing_field›{}'));
  checkMarked(t, 'another field', counter('workspace: {max: 1, ‹unknown_field|did you mean ttl?›tll: 1h}'));
  checkMarked(t, 'no map', counter('workspace: ‹wrong_type›5'));
  checkMarked(t, 'null', counter('task: ‹wrong_type|leave the field out›null'));
  checkMarked(t, 'both fields wrong', counter('task: {max: ‹negative_value›-1, ttl: ‹invalid_duration›soon}'));
});

t.test('ttl', async (t) => {
  for (const ttl of ['0', '0s', '-5m', '999us', '-1ns']) checkMarked(t, ttl, counter(`task: {max: 1, ttl: ‹duration_not_positive|leave ttl out›"${ttl}"}`));
  for (const ttl of ['1ms', '5m', '1h', '24h', '2562047h']) checkMarked(t, ttl, counter(`task: {max: 1, ttl: ${ttl}}`));
  checkMarked(t, 'days', counter('task: {max: 1, ttl: ‹invalid_duration|24h›1d}'));
  checkMarked(t, 'no unit', counter('task: {max: 1, ttl: ‹invalid_duration|300s›"300"}'));
  checkMarked(t, 'a number', counter('task: {max: 1, ttl: ‹wrong_type|quotes›300}'));
  checkMarked(t, 'null', counter('task: {max: 1, ttl: ‹wrong_type›null}'));
});

t.test('task against workspace, at the field of the task', async (t) => {
  checkMarked(t, 'equal', counter('workspace: {max: 5, ttl: 1h}', 'task: {max: 5, ttl: 60m}'));
  checkMarked(t, 'max', counter('workspace: {max: 5, ttl: 1h}', 'task: {max: ‹task_max_over_workspace|task.max 6 is more than workspace.max 5›6, ttl: 1h}'));
  checkMarked(t, 'ttl', counter('workspace: {max: 5, ttl: 1h}', 'task: {max: 5, ttl: ‹task_ttl_over_workspace›61m}'));
  checkMarked(t, 'ttl by less than a millisecond', counter('workspace: {max: 5, ttl: 1h}', 'task: {max: 5, ttl: ‹task_ttl_over_workspace›1h1us}'));
  checkMarked(t, 'both, the task first', counter('task: {max: ‹task_max_over_workspace›6, ttl: ‹task_ttl_over_workspace›2h}', 'workspace: {max: 5, ttl: 1h}'));
  checkMarked(t, '0 is unlimited', counter('workspace: {max: 0, ttl: 1h}', 'task: {max: 6, ttl: 1h}'));
  checkMarked(t, 'an unlimited task', counter('workspace: {max: 5}', 'task: {max: 0}'));
  checkMarked(t, 'no ttl never resets', counter('workspace: {max: 5}', 'task: {max: 5, ttl: 24h}'));
  checkMarked(t, 'beyond 2^53', counter('workspace: {max: 9007199254740992}', 'task: {max: ‹task_max_over_workspace›9007199254740993}'));
  checkMarked(t, 'one field is compared beside another that is wrong', counter('workspace: {max: 5, ttl: ‹invalid_duration›soon}', 'task: {max: ‹task_max_over_workspace›6, ttl: 1h}'));
  checkMarked(t, 'nothing to compare with', counter('workspace: {max: ‹wrong_type›"5", ttl: 1h}', 'task: {max: 6, ttl: 1h}'));
});

t.test('failure_charge against each scope', async (t) => {
  const charged = (charge: string, ...lines: readonly string[]) => countersWith(['name: down', 'source: response.bytes', 'status_codes: [2xx]', `failure_charge: ${charge}`, ...lines].join('\n'));
  checkMarked(t, 'at most the max', charged('5', 'workspace: {max: 5}', 'task: {max: 5}'));
  checkMarked(t, 'over the workspace', charged('‹failure_charge_over_max|workspace.max 5›6', 'workspace: {max: 5}'));
  checkMarked(t, 'over the task alone', charged('‹failure_charge_over_max|task.max 5›6', 'workspace: {max: 10}', 'task: {max: 5}'));
  checkMarked(t, 'over both: the tighter one', charged('‹failure_charge_over_max|task.max 4›6', 'workspace: {max: 5}', 'task: {max: 4}'));
  checkMarked(t, 'unlimited', charged('6', 'workspace: {max: 0}', 'task: {max: 0}'));
  checkMarked(t, 'no scope', charged('6', 'max_concurrent: 1'));
  checkMarked(t, 'a max beside a wrong ttl', charged('‹failure_charge_over_max›6', 'workspace: {max: 5, ttl: ‹invalid_duration›soon}'));
});

t.test('any two scopes: the slugs follow from the numbers', async () => {
  const amount = fc.integer({ min: 0, max: 5 });
  const minutes = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined });
  const text = (max: number, ttl: number | undefined) => `{max: ${max}${ttl === undefined ? '' : `, ttl: ${ttl}m`}}`;
  fc.assert(fc.property(amount, amount, minutes, minutes, (workspaceMax, taskMax, workspaceTtl, taskTtl) => {
    const { problems } = readPolicyText(counter(`workspace: ${text(workspaceMax, workspaceTtl)}`, `task: ${text(taskMax, taskTtl)}`));
    const expected = [
      ...(workspaceMax > 0 && taskMax > workspaceMax ? ['task_max_over_workspace'] : []),
      ...(workspaceTtl !== undefined && taskTtl !== undefined && taskTtl > workspaceTtl ? ['task_ttl_over_workspace'] : []),
    ];
    return JSON.stringify(problems.map(({ slug }) => slug)) === JSON.stringify(expected);
  }));
});
