import { inspect } from 'node:util';

const redacted = '[secret]';

/**
 * Holds a value that must never be seen. Printing, JSON, template strings and inspection all give `[secret]`; only `reveal()`,
 * which a reviewer can search for, gives the value.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return redacted;
  }

  toJSON(): string {
    return redacted;
  }

  [inspect.custom](): string {
    return redacted;
  }
}
