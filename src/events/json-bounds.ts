/** Most characters of text, keys included, that one JSON column (`detail`, `budget_state`) may hold. */
export const jsonCharactersMax = 1_048_576;

/** Deepest nesting of a JSON column. JSON.parse takes any depth but JSON.stringify fails between 3,000 and 5,000 levels. */
export const jsonDepthMax = 64;

/** What a number, literal or bracket is counted as; a JSON text is never shorter than half of the sum. */
const tokenCharacters = 8;

/** Whether JSON.stringify would write the value as what its own `toJSON` answers, which no check of its keys can foresee. */
export function hasToJson(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

/**
 * Why a value cannot be kept as the JSON text of a column, or undefined when it can. It walks the value instead of serialising it,
 * because a value that is circular, too deep or holds a bigint makes JSON.stringify throw, and an audit row must not be lost to that.
 */
export function jsonProblem(value: unknown): string | undefined {
  let left = jsonCharactersMax;

  function walk(inner: unknown, depth: number): string | undefined {
    if (left < 0) return `larger than ${jsonCharactersMax} characters`;
    left -= typeof inner === 'string' ? inner.length + 2 : tokenCharacters;
    if (typeof inner === 'bigint' || typeof inner === 'function' || typeof inner === 'symbol') return 'holds a value that JSON does not have';
    if (hasToJson(inner) && !(inner instanceof Date && depth > 0)) return 'holds an object that JSON writes as something else';
    if (typeof inner !== 'object' || inner === null || inner instanceof Date) return left < 0 ? `larger than ${jsonCharactersMax} characters` : undefined;
    if (depth >= jsonDepthMax) return `nested deeper than ${jsonDepthMax} levels`;
    for (const key of Object.keys(inner)) {
      if (!Array.isArray(inner)) left -= key.length + 3;
      const problem = walk((inner as Record<string, unknown>)[key], depth + 1);
      if (problem !== undefined) return problem;
    }
    return left < 0 ? `larger than ${jsonCharactersMax} characters` : undefined;
  }
  return walk(value, 0);
}
