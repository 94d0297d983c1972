import type { Counter } from '../model.ts';
import type { Reporter } from '../problem.ts';
import type { SourceRow } from './counter-source.ts';
import type { Fields } from './fields.ts';
import { amountOf } from './int64.ts';
import type { ReadScope, ScopeName } from './scope.ts';
import { checkScope, compareScopes, scopeNames } from './scope.ts';

const maxConcurrentMax = 2n ** 31n - 1n;

export type Limits = Pick<Counter, 'reservePerRequest' | 'failureCharge' | 'maxConcurrent' | 'workspace' | 'task'>;

/** Scopes, reservation, failure charge and concurrency of a counter (contract 2.7). Undefined when anything in them is wrong. */
export function checkLimits(fields: Fields, row: SourceRow | undefined, reporter: Reporter): Limits | undefined {
  // A request counter takes neither, which is reported: what they hold does not matter then.
  const streams = row !== 'request';
  const reservePerRequest = streams ? amountOf(fields, 'reserve_per_request', reporter) : 0n;
  const failureCharge = streams ? amountOf(fields, 'failure_charge', reporter) : 0n;
  const maxConcurrent = amountOf(fields, 'max_concurrent', reporter, maxConcurrentMax);
  const workspace = checkScope(fields, 'workspace', reporter);
  const task = checkScope(fields, 'task', reporter);
  const ordered = compareScopes(workspace, task, reporter);
  const charged = failureCharge === undefined || checkFailureCharge(fields, failureCharge, { workspace, task }, reporter);
  const scoped = scopeNames.every((name) => !fields.has(name) || (name === 'workspace' ? workspace : task)?.scope !== undefined);
  if (reservePerRequest === undefined || failureCharge === undefined || maxConcurrent === undefined || !ordered || !charged || !scoped) return undefined;
  return { reservePerRequest, failureCharge, maxConcurrent: Number(maxConcurrent), workspace: workspace?.scope, task: task?.scope };
}

/** At most the max of each scope that has one. The tightest one is named. */
function checkFailureCharge(fields: Fields, charge: bigint, scopes: Readonly<Record<ScopeName, ReadScope | undefined>>, reporter: Reporter): boolean {
  let over: { readonly name: ScopeName; readonly max: bigint } | undefined;
  for (const name of scopeNames) {
    const max = scopes[name]?.max?.amount ?? 0n;
    if (max > 0n && charge > max && (over === undefined || max < over.max)) over = { name, max };
  }
  const field = fields.integer('failure_charge');
  if (over === undefined || field === undefined) return true;
  reporter.problem('failure_charge_over_max', field, `failure_charge ${charge} is more than ${over.name}.max ${over.max}`);
  return false;
}
