const space = /[ \t\n\r]*/y;
const scalar = /(?:"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
const text = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/**
 * Where a text stops being JSON, as an index into it; its length when it ends too early. JSON.parse names the place in some of its
 * messages only, and quotes the input in others, which may hold secrets. For texts that JSON.parse has refused.
 */
export function jsonFaultAt(input: string): number {
  const closers: string[] = [];
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(input)) return false;
    at = pattern.lastIndex;
    return true;
  };
  const takeChar = (char: string): boolean => {
    take(space);
    if (input[at] !== char) return false;
    at += 1;
    return true;
  };
  /** Key and colon of an object's member. */
  const takeKey = (): boolean => {
    take(space);
    return take(text) && takeChar(':');
  };
  for (;;) {
    take(space);
    const opener = input[at];
    if (opener === '{' || opener === '[') {
      at += 1;
      const closer = opener === '{' ? '}' : ']';
      if (!takeChar(closer)) {
        closers.push(closer);
        if (closer === '}' && !takeKey()) return at;
        continue;
      }
    } else if (!take(scalar)) {
      return at;
    }
    // A value is complete: what may follow depends on what is open around it.
    for (;;) {
      const closer = closers.at(-1);
      if (closer === undefined) {
        take(space);
        return at;
      }
      if (takeChar(',')) {
        if (closer === '}' && !takeKey()) return at;
        break;
      }
      if (!takeChar(closer)) return at;
      closers.pop();
    }
  }
}
