/** Counts what one document may cost beyond the single compilation of each expression. */
export type CompileBudget = {
  /** Takes the cost of compiling an expression of this length once more. False when the document has used up what it may. */
  spend(characters: number): boolean;
};

/** A compilation costs about as much as this many characters, before its first one. */
const charactersPerCompilation = 40;

/**
 * CEL characters that one document may have compiled again, once for each schema. Transforms times schemas is a product that a small text
 * can drive into the millions; this is less than half a second, and enough for 50 transforms of 60 characters over 60 schemas.
 */
export const typedCharactersMax = 300_000;

export function createCompileBudget(charactersMax: number = typedCharactersMax): CompileBudget {
  let left = charactersMax;
  return {
    spend(characters) {
      left -= characters + charactersPerCompilation;
      return left >= 0;
    },
  };
}
