import type { CelBindings } from '../policy/cel/contract.ts';
import type { Counter } from '../policy/model.ts';
import { int64Max, saturated } from './amount.ts';
import type { FlooredReason } from './contract.ts';

/** What went wrong while a body was read, the worst first. One counter has one reason in a row, so only the worst is kept. */
const failures = ['parse_failed', 'cel_eval_error'] as const satisfies readonly FlooredReason[];
export type ExtractionFailure = (typeof failures)[number];

/** Values of one counter in one response, brought together by its accumulator (contract 2.7). */
export class Extraction {
  readonly #counter: Counter;
  #amount: bigint | undefined;
  #failure: ExtractionFailure | undefined;

  constructor(counter: Counter) {
    this.#counter = counter;
  }

  /** 0 when nothing was extracted. */
  get amount(): bigint {
    return this.#amount ?? 0n;
  }

  get failure(): ExtractionFailure | undefined {
    return this.#failure;
  }

  fail(failure: ExtractionFailure): void {
    if (this.#failure === undefined || failures.indexOf(failure) < failures.indexOf(this.#failure)) this.#failure = failure;
  }

  /** Evaluates `value` over one document or event. What is not an integer from 0 to int64's end counts as failed, and adds nothing. */
  evaluate(bindings: CelBindings): void {
    const value = valueOf(this.#counter, bindings);
    if (value === undefined || value < 0n || value > int64Max) this.fail('cel_eval_error');
    else this.#add(value);
  }

  #add(value: bigint): void {
    const before = this.#amount;
    if (before === undefined) this.#amount = value;
    else if (this.#counter.accumulator === 'sum') this.#amount = saturated(before + value);
    else if (this.#counter.accumulator === 'max') this.#amount = before > value ? before : value;
    else this.#amount = value;
  }
}

function valueOf({ value }: Counter, bindings: CelBindings): bigint | undefined {
  try {
    const result = value?.evaluate(bindings);
    return result?.ok === true ? result.value : undefined;
  } catch {
    // A program answers its failures. Should one throw all the same, the response goes on and the counter is floored.
    return undefined;
  }
}
