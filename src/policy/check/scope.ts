import type { ScalarNode } from '../document/node.ts';
import type { Scope } from '../model.ts';
import type { Reporter } from '../problem.ts';
import { durationHint, parseDuration } from './duration.ts';
import type { Fields, StringField } from './fields.ts';
import { openFields, shown } from './fields.ts';
import { amountOf } from './int64.ts';

/** A window shorter than this cannot be kept. */
const ttlNanosecondsMin = 1_000_000n;

export const scopeNames = ['workspace', 'task'] as const;
export type ScopeName = (typeof scopeNames)[number];

/** What could be read of a scope, with where it stands: one field may be wrong and the other one still be compared. */
export type ReadScope = {
  /** Undefined when anything in it is wrong. */
  readonly scope: Scope | undefined;
  readonly max: { readonly field: ScalarNode; readonly amount: bigint } | undefined;
  readonly ttl: { readonly field: StringField; readonly nanoseconds: bigint } | undefined;
};

/** `workspace` or `task` of a counter: `{max, ttl}` (contract 2.7). Undefined when absent or no map. */
export function checkScope(fields: Fields, key: ScopeName, reporter: Reporter): ReadScope | undefined {
  const node = fields.map(key);
  const scope = node === undefined ? undefined : openFields(node, `a ${key} scope`, { max: 'integer', ttl: 'string' }, reporter);
  if (scope === undefined) return undefined;
  const complete = scope.needs('max');
  const amount = amountOf(scope, 'max', reporter);
  const field = scope.integer('max');
  const max = amount === undefined || field === undefined ? undefined : { field, amount };
  const ttl = checkTtl(scope, reporter);
  if (!complete || max === undefined || ttl === 'broken') return { scope: undefined, max, ttl: ttl === 'broken' ? undefined : ttl };
  const ttlMs = ttl === undefined ? undefined : Number(ttl.nanoseconds / ttlNanosecondsMin);
  return { scope: Object.freeze({ path: scope.node.path, position: scope.node.position, max: max.amount, ttlMs }), max, ttl };
}

/** Undefined when it never resets. */
function checkTtl(scope: Fields, reporter: Reporter): ReadScope['ttl'] | 'broken' {
  const field = scope.string('ttl');
  if (field === undefined) return scope.has('ttl') ? 'broken' : undefined;
  if (field.value === '') return undefined;
  const nanoseconds = parseDuration(field.value);
  if (nanoseconds === undefined) {
    reporter.problem('invalid_duration', field, `ttl ${shown(field.value)} is not a duration`, { hint: durationHint(field.value) });
    return 'broken';
  }
  if (nanoseconds < ttlNanosecondsMin) {
    reporter.problem('duration_not_positive', field, `ttl ${shown(field.value)} is ${nanoseconds <= 0n ? 'not positive' : 'less than 1ms'}`, { hint: 'leave ttl out for a counter that never resets' });
    return 'broken';
  }
  return { field, nanoseconds };
}

/** The cross-counter rule; compared where both scopes have a limit, as 0 means unlimited and an absent ttl never resets. True when it holds. */
export function compareScopes(workspace: ReadScope | undefined, task: ReadScope | undefined, reporter: Reporter): boolean {
  const maxOver = workspace?.max !== undefined && task?.max !== undefined && workspace.max.amount > 0n && task.max.amount > workspace.max.amount;
  if (maxOver) reporter.problem('task_max_over_workspace', task.max.field, `task.max ${task.max.amount} is more than workspace.max ${workspace.max.amount}`);
  const ttlOver = workspace?.ttl !== undefined && task?.ttl !== undefined && task.ttl.nanoseconds > workspace.ttl.nanoseconds;
  if (ttlOver) reporter.problem('task_ttl_over_workspace', task.ttl.field, `task.ttl ${shown(task.ttl.field.value)} is longer than workspace.ttl ${shown(workspace.ttl.field.value)}`);
  return !maxOver && !ttlOver;
}
