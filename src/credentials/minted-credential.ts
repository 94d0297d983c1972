import { inspect } from 'node:util';

const redacted = '[minted credential]';

/**
 * A token in the form its sink takes, and the texts that must be scrubbed from the answer. Structurally the `Minted` of
 * src/transforms/contract.ts. Like `Secret`, it cannot be printed: both are private fields behind accessors.
 */
export class MintedCredential {
  readonly #value: string;
  readonly #secrets: readonly string[];

  constructor(value: string, secrets: readonly string[]) {
    this.#value = value;
    this.#secrets = Object.freeze([...secrets]);
  }

  get value(): string {
    return this.#value;
  }

  get secrets(): readonly string[] {
    return this.#secrets;
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
