import type { Scope } from '../model.ts';
import type { Reporter } from '../problem.ts';
import { parseDuration } from './duration.ts';
import type { Fields } from './fields.ts';
import { openFields, shown } from './fields.ts';
import { amountOf } from './int64.ts';

/** A window shorter than this cannot be kept. */
const ttlNanosecondsMin = 1_000_000n;

/** `workspace` or `task` of a counter: `{max, ttl}` (contract 2.7). Undefined when absent or wrong. */
export function checkScope(fields: Fields, key: 'workspace' | 'task', reporter: Reporter): Scope | undefined {
  const node = fields.map(key);
  const scope = node === undefined ? undefined : openFields(node, `${key} scope`, { max: 'integer', ttl: 'string' }, reporter);
  if (scope === undefined) return undefined;
  const complete = scope.require('max');
  const max = amountOf(scope, 'max', reporter);
  const ttlMs = checkTtl(scope, reporter);
  if (!complete || max === undefined || ttlMs === 'bad') return undefined;
  return Object.freeze({ path: scope.node.path, position: scope.node.position, max, ttlMs });
}

/** Milliseconds; undefined when it never resets. */
function checkTtl(scope: Fields, reporter: Reporter): number | undefined | 'bad' {
  const field = scope.string('ttl');
  if (field === undefined) return scope.has('ttl') ? 'bad' : undefined;
  if (field.value === '') return undefined;
  const nanoseconds = parseDuration(field.value);
  if (nanoseconds === undefined) {
    const days = /^([0-9]+)d$/.exec(field.value)?.[1];
    reporter.problem('invalid_duration', field, `ttl ${shown(field.value)} is not a duration`, { hint: days === undefined ? 'for example 5m, 1h, 24h' : `write ${BigInt(days) * 24n}h` });
    return 'bad';
  }
  if (nanoseconds < ttlNanosecondsMin) {
    reporter.problem('duration_not_positive', field, nanoseconds <= 0n ? `ttl ${shown(field.value)} is not positive` : `ttl ${shown(field.value)} is less than 1ms`, { hint: 'leave ttl out for a counter that never resets' });
    return 'bad';
  }
  return Number(nanoseconds / 1_000_000n);
}

/** The cross-counter rule; compared where both scopes have a limit, as 0 means unlimited and an absent ttl never resets. */
export function checkScopes(workspace: Scope | undefined, task: Scope | undefined, reporter: Reporter): void {
  if (workspace === undefined || task === undefined) return;
  if (workspace.max > 0n && task.max > workspace.max) reporter.problem('task_max_over_workspace', task, `task.max ${task.max} is more than workspace.max ${workspace.max}`);
  if (workspace.ttlMs !== undefined && task.ttlMs !== undefined && task.ttlMs > workspace.ttlMs) {
    reporter.problem('task_ttl_over_workspace', task, 'task.ttl is longer than workspace.ttl');
  }
}
