import { AppError, validationError } from '../kernel/errors.ts';

/** Gathers the `validation_error`s of several parameters, so that a caller learns of all of them at once. Other errors pass through. */
export class FieldProblems {
  readonly #fields: Record<string, string> = {};

  take<T>(parse: () => T): T | undefined {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'validation_error') throw error;
      Object.assign(this.#fields, error.details?.fields);
      return undefined;
    }
  }

  add(field: string, problem: string): void {
    this.#fields[field] = problem;
  }

  throwIfAny(): void {
    if (Object.keys(this.#fields).length > 0) throw validationError(this.#fields);
  }
}

/** A piece of the caller's input for an error text, quoted and cut. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
