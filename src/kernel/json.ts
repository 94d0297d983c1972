/**
 * JSON.parse for texts that others wrote. V8 12.8 and later (Node 24 and 26; nodejs/node issue 63785) may answer a wrong name for an object
 * key that is written with an escape: once some object with a key such as `\` was seen, `{"\n": 1}` can come back as `{"\\": 1}`.
 * A row of evidence, or a body that a policy decides by, must not change so. Keys without escapes are never affected; keys with one are
 * parsed as strings, which is right, and put back.
 */
export function parseJson(text: string): unknown {
  if (!text.includes('\\')) return JSON.parse(text) as unknown;
  const names: string[] = [];
  // Private-use characters, and more of them when the text has these: a key of its own is never taken for one of ours.
  let prefix = '\u{F8FF}key:';
  while (text.includes(prefix)) prefix = `\u{F8FF}${prefix}`;
  // Strings in turn: an escaped quote never ends one, so the scan stays in step with the text. A colon behind a string makes it a key.
  const safe = text.replace(/"((?:[^"\\]|\\.)*)"(\s*:)?/gs, (whole, inner: string, colon: string | undefined) => {
    if (colon === undefined || !inner.includes('\\')) return whole;
    names.push(JSON.parse(`"${inner}"`) as string);
    return `"${prefix}${names.length - 1}"${colon}`;
  });
  return names.length === 0 ? (JSON.parse(text) as unknown) : renamed(JSON.parse(safe), { prefix, names }, 0);
}

/** JSON.parse itself has no bound on nesting; walking what it gives needs one. */
const depthMax = 1_000;

function renamed(value: unknown, keys: { readonly prefix: string; readonly names: readonly string[] }, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > depthMax) throw new SyntaxError(`JSON nested deeper than ${depthMax} levels`);
  if (Array.isArray(value)) return value.map((inner) => renamed(inner, keys, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, inner]): [string, unknown] => {
    const name = key.startsWith(keys.prefix) ? keys.names[Number(key.slice(keys.prefix.length))] : undefined;
    return [name ?? key, renamed(inner, keys, depth + 1)];
  }));
}
