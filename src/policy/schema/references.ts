/** The key of a place in the schema, for `refersToSchema`. */
export function placeOf(at: readonly (string | number)[]): string {
  return JSON.stringify(at.map(String));
}

/**
 * Whether a `$ref` (`#`, `#/…` or `#anchor`) leads to a schema that the gate has walked. Places under unknown keywords, in `const` or in a map
 * of properties hold no schema, whatever they look like: nothing there was checked, and no steps would be counted.
 */
export function refersToSchema(reference: string, anchors: ReadonlySet<string>, places: ReadonlySet<string>): boolean {
  const fragment = decoded(reference.slice(1));
  if (fragment === undefined) return false;
  if (fragment === '') return true;
  if (!fragment.startsWith('/')) return anchors.has(fragment);
  return places.has(placeOf(fragment.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))));
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}
