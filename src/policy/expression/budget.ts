/** Steps of loops in one evaluation; the deterministic bound. */
export const stepsMax = 100_000;
/** For what is slow without many steps. Generous: cold code is slow, and a loaded machine too. */
const timeMaxMs = 250;
const stepsBetweenLooks = 256;

let steps = 0;
let deadlineMs = 0;
let exhausted = false;

/** Evaluations are synchronous, so one counter is enough for all of them. */
export function startBudget(): void {
  steps = 0;
  exhausted = false;
  deadlineMs = 0;
}

/** False when the budget is used up. */
export function tick(): boolean {
  steps += 1;
  if (deadlineMs === 0) deadlineMs = performance.now() + timeMaxMs;
  if (steps > stepsMax || (steps % stepsBetweenLooks === 0 && performance.now() > deadlineMs)) exhausted = true;
  return !exhausted;
}

/** Asked after the evaluation: `|| true` hides the error of a loop that was stopped. */
export function budgetExhausted(): boolean {
  return exhausted;
}
