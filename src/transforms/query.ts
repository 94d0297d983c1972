/** Raw queries as lists of raw parameters: what is not touched keeps every byte. */
export function withoutParameter(rawQuery: string, name: string): string {
  return rawQuery.split('&').filter((part) => part !== '' && nameOf(part) !== name).join('&');
}

/** Replaces all parameters of the name by one, at the end, percent-encoded. */
export function withParameter(rawQuery: string, name: string, value: string): string {
  const rest = withoutParameter(rawQuery, name);
  return `${rest}${rest === '' ? '' : '&'}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}

function nameOf(part: string): string {
  const raw = part.split('=', 1)[0] ?? '';
  return decodeURIComponent(raw.replaceAll('+', ' '));
}
