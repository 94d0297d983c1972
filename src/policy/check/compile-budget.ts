/** Counts what one document may cost beyond the single compilation of each expression. */
export type CompileBudget = {
  /** False when the document has used up what it may. */
  spend(characters: number): boolean;
};

/**
 * CEL characters that one document may have compiled again for one more schema. Each transform times each schema is a product that a small
 * text can drive into the millions; 200 rules with a schema each under 50 transforms of 80 characters stay within this.
 */
export const typedCharactersMax = 1_000_000;

export function createCompileBudget(charactersMax: number = typedCharactersMax): CompileBudget {
  let left = charactersMax;
  return {
    spend(characters) {
      if (characters > left) return false;
      left -= characters;
      return true;
    },
  };
}
