/**
 * JSON as a security decision needs it: one text, one meaning. JSON.parse keeps the last of two equal keys while other readers keep the
 * first, so a body could pass a policy as one thing and reach an upstream as another. Refused here, beyond what the grammar refuses:
 * duplicate keys, lone surrogates (written or escaped), nesting and key counts over a bound. Numbers are doubles, as in JSON.parse.
 */
export type JsonRefusal = { readonly ok: false; readonly reason: 'syntax' | 'duplicate_key' | 'lone_surrogate' | 'too_deep' | 'too_many_keys'; /** UTF-16 units. */ readonly offset: number };
export type StrictJson = { readonly ok: true; readonly value: unknown } | JsonRefusal;
export type StrictJsonLimits = {
  readonly depthMax: number;
  readonly keysMax: number;
  /**
   * Numbers that a double does not write back as they were (`12345678901234567890`, `1.0`) come as raw JSON, which JSON.stringify writes
   * unchanged: a body that is changed in one place must stay as it is in all others.
   */
  readonly rawNumbers?: boolean;
};

export const strictJsonLimits: StrictJsonLimits = { depthMax: 128, keysMax: 100_000 };

export function readStrictJson(text: string, limits: StrictJsonLimits = strictJsonLimits): StrictJson {
  const reader = new Reader(text, limits);
  try {
    const value = reader.document();
    return text.isWellFormed() ? { ok: true, value } : { ok: false, reason: 'lone_surrogate', offset: reader.at };
  } catch (error) {
    if (error instanceof Refused) return { ok: false, reason: error.reason, offset: reader.at };
    throw error;
  }
}

class Refused extends Error {
  readonly reason: JsonRefusal['reason'];
  constructor(reason: JsonRefusal['reason']) {
    super(reason);
    this.reason = reason;
  }
}

const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// A run of a string without escapes and control characters; most strings are one run.
const plainPattern = /[^"\\\u0000-\u001f]*/y;
const escapes: Readonly<Record<string, string>> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

// Not in TypeScript's library yet (ECMAScript 2026, JSON.parse source text access).
const { rawJSON: rawJson, isRawJSON } = JSON as unknown as { rawJSON: (text: string) => object; isRawJSON: (value: unknown) => boolean };

/** True for a number that was kept as written. */
export function isRawNumber(value: unknown): boolean {
  return isRawJSON(value);
}

class Reader {
  at = 0;
  readonly #text: string;
  readonly #limits: StrictJsonLimits;
  #keys = 0;

  constructor(text: string, limits: StrictJsonLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  document(): unknown {
    const value = this.#value(0);
    this.#space();
    if (this.at < this.#text.length) throw new Refused('syntax');
    return value;
  }

  #value(depth: number): unknown {
    if (depth > this.#limits.depthMax) throw new Refused('too_deep');
    this.#space();
    switch (this.#text.charAt(this.at)) {
      case '{': return this.#object(depth);
      case '[': return this.#array(depth);
      case '"': return this.#string();
      case 't': return this.#word('true', true);
      case 'f': return this.#word('false', false);
      case 'n': return this.#word('null', null);
      default: return this.#number();
    }
  }

  #object(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    this.at += 1;
    this.#space();
    if (this.#take('}')) return object;
    for (;;) {
      this.#space();
      if (this.#text[this.at] !== '"') throw new Refused('syntax');
      const start = this.at;
      const key = this.#string();
      if (Object.hasOwn(object, key)) {
        this.at = start;
        throw new Refused('duplicate_key');
      }
      this.#keys += 1;
      if (this.#keys > this.#limits.keysMax) throw new Refused('too_many_keys');
      this.#space();
      if (!this.#take(':')) throw new Refused('syntax');
      const value = this.#value(depth + 1);
      // An assignment to __proto__ would set the prototype instead of a property.
      if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
      else object[key] = value;
      this.#space();
      if (this.#take('}')) return object;
      if (!this.#take(',')) throw new Refused('syntax');
    }
  }

  #array(depth: number): unknown[] {
    const array: unknown[] = [];
    this.at += 1;
    this.#space();
    if (this.#take(']')) return array;
    for (;;) {
      array.push(this.#value(depth + 1));
      this.#space();
      if (this.#take(']')) return array;
      if (!this.#take(',')) throw new Refused('syntax');
    }
  }

  #string(): string {
    this.at += 1;
    let whole = '';
    for (;;) {
      plainPattern.lastIndex = this.at;
      plainPattern.test(this.#text);
      const end = plainPattern.lastIndex;
      whole += this.#text.slice(this.at, end);
      this.at = end;
      if (this.#take('"')) break;
      if (!this.#take('\\')) throw new Refused('syntax');
      whole += this.#escape();
    }
    if (!whole.isWellFormed()) throw new Refused('lone_surrogate');
    return whole;
  }

  #escape(): string {
    const letter = this.#text[this.at] ?? '';
    this.at += 1;
    if (letter !== 'u') {
      if (!Object.hasOwn(escapes, letter)) throw new Refused('syntax');
      return escapes[letter] ?? '';
    }
    const digits = this.#text.slice(this.at, this.at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new Refused('syntax');
    this.at += 4;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #number(): unknown {
    numberPattern.lastIndex = this.at;
    const [source] = numberPattern.exec(this.#text) ?? [];
    if (source === undefined) throw new Refused('syntax');
    this.at += source.length;
    const value = Number(source);
    return this.#limits.rawNumbers === true && String(value) !== source ? rawJson(source) : value;
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.at)) throw new Refused('syntax');
    this.at += word.length;
    return value;
  }

  #take(character: string): boolean {
    if (this.#text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.at += 1;
    }
  }
}
