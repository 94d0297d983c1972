/**
 * What one document may cost in all where a small text makes a large product: transforms times schemas, unknown names times known ones.
 * Counted over the whole document.
 */
export type CheckBudget = {
  /** Takes the cost of compiling an expression of this length once more, for one more schema. False when it is used up. */
  compilation(characters: number): boolean;
  /** Takes one search for the name that was meant. False when there were enough. */
  suggestion(): boolean;
};

/** A compilation costs about as much as this many characters, before its first one. */
const charactersPerCompilation = 40;

/** Less than half a second, and enough for 50 transforms of 60 characters over 60 schemas. */
const compiledCharactersMax = 300_000;

const suggestionsMax = 20;

export function createCheckBudget(): CheckBudget {
  let characters = compiledCharactersMax;
  let suggestions = suggestionsMax;
  return {
    compilation(length) {
      characters -= length + charactersPerCompilation;
      return characters >= 0;
    },
    suggestion() {
      suggestions -= 1;
      return suggestions >= 0;
    },
  };
}
