/** Parsers for one setting each: text of the environment variable in, value out, or a thrown text that says what was expected. */
export type Parser<T> = (text: string) => T;

export type Setting<T> = {
  readonly env: string;
  readonly parse: Parser<T>;
  /** Text used when the variable is unset or empty; undefined makes the setting optional, see `required`. */
  readonly fallback: string | undefined;
  /** Says the fallback in documents where its text differs from machine to machine. */
  readonly fallbackDoc?: string;
  readonly doc: string;
  /** Never printed. */
  readonly secret: boolean;
};

export class SettingError extends Error {
  constructor(problems: readonly string[]) {
    super(`settings: ${problems.join('; ')}`);
    this.name = 'SettingError';
  }
}

export const asText: Parser<string> = (text) => text;

export function asInteger(min: number, max: number): Parser<number> {
  return (text) => {
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new SettingError([`expected an integer from ${min} to ${max}`]);
    return value;
  };
}

/** 0 is off. */
export const asPortOrOff: Parser<number | undefined> = (text) => {
  const port = asInteger(0, 65_535)(text);
  return port === 0 ? undefined : port;
};

export function asOneOf<const T extends string>(...values: T[]): Parser<T> {
  return (text) => {
    const found = values.find((value) => value === text);
    if (found === undefined) throw new SettingError([`expected one of ${values.join(', ')}`]);
    return found;
  };
}

export function asUrl(...protocols: string[]): Parser<string> {
  return (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !protocols.includes(url.protocol)) throw new SettingError([`expected a URL starting with ${protocols.join(' or ')}`]);
    return text;
  };
}

/** Comma-separated base64 keys of 32 bytes each. */
export const asSealingKeys: Parser<string> = (text) => {
  const keys = text.split(',').map((key) => key.trim());
  if (keys.length > 8 || keys.some((key) => !/^[A-Za-z0-9+/]{43}=$/.test(key))) throw new SettingError(['expected 1 to 8 keys of 32 bytes each, in base64, with commas between them']);
  return text;
};

export function asLongText(charactersMin: number): Parser<string> {
  return (text) => {
    if (text.length < charactersMin || !/^[\x21-\x7e]+$/.test(text)) throw new SettingError([`expected at least ${charactersMin} characters, without spaces`]);
    return text;
  };
}
