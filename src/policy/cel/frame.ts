import type { CelBindings } from './contract.ts';
import { celLimits } from './limits.ts';
import type { CelType } from './types.ts';

/** One evaluation: what it may read and what is left of its budget. */
type Frame = {
  readonly bindings: CelBindings;
  readonly requestBodyType: CelType;
  readonly deadline: number;
  steps: number;
  untilClock: number;
  exhausted: boolean;
};

/** The budget is used up. Thrown only inside functions that the library calls; the flag in the frame decides, since `||` may hide the error. */
export class BudgetExhausted extends Error {}

/** A value has a type that the operation does not take. The library keeps only the text of errors that it merges, so the text is the mark. */
export class TypeMismatch extends Error {
  constructor() {
    super('type mismatch');
  }
}

/** Evaluation is synchronous and never nests, so one place holds the frame that is running. */
let current: Frame | undefined;

/** Runs `evaluate` with these bindings; says whether the budget held. */
export function runInFrame<T>(bindings: CelBindings, requestBodyType: CelType, evaluate: () => T): { readonly value: T; readonly exhausted: boolean } {
  const frame: Frame = {
    bindings,
    requestBodyType,
    deadline: performance.now() + celLimits.deadlineMs,
    steps: celLimits.steps,
    untilClock: celLimits.stepsPerClockRead,
    exhausted: false,
  };
  const outer = current;
  current = frame;
  // A missing key is an Error inside the library; taking its stack costs more than the evaluation, and nobody sees it.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const value = evaluate();
    return { value, exhausted: frame.exhausted };
  } finally {
    current = outer;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

export function currentFrame(): Frame {
  if (current === undefined) throw new Error('CEL is evaluated outside of a frame');
  return current;
}

/** Pays for `steps` of work; false when the budget is used up. */
export function spend(steps: number): boolean {
  const frame = currentFrame();
  frame.steps -= steps;
  frame.untilClock -= steps;
  if (frame.untilClock <= 0) {
    frame.untilClock = celLimits.stepsPerClockRead;
    if (performance.now() > frame.deadline) frame.exhausted = true;
  }
  if (frame.steps < 0) frame.exhausted = true;
  return !frame.exhausted;
}

/** Like `spend`, for functions: they cannot go on. */
export function charge(steps: number): void {
  if (!spend(steps)) throw new BudgetExhausted();
}

/** Pays for going through this many UTF-16 units of text. */
export function chargeText(characters: number): void {
  charge(1 + Math.floor(characters / celLimits.charactersPerStep));
}

/** A string of this length may be built. */
export function chargeString(characters: number): void {
  if (characters > celLimits.stringCharacters) {
    currentFrame().exhausted = true;
    throw new BudgetExhausted();
  }
  chargeText(characters);
}
