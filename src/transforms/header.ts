import type { HeaderField } from './contract.ts';

/** Headers the proxy writes itself: their values decide where a message ends and where it goes. */
const managed: ReadonlySet<string> = new Set([
  'host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'te', 'trailer', 'upgrade', 'expect',
  'proxy-authorization', 'proxy-authenticate', 'proxy-connection', 'x-capability-token',
]);

export function isManaged(name: string): boolean {
  return managed.has(name.toLowerCase());
}

/** Whether a text may stand as a header's value: visible ASCII, spaces and tabs inside. CR, LF and NUL would make it another message. */
export function isHeaderValue(value: string): boolean {
  return /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/.test(value);
}

export function withoutHeader(headers: readonly HeaderField[], name: string): readonly HeaderField[] {
  const lower = name.toLowerCase();
  return headers.filter(([other]) => other.toLowerCase() !== lower);
}

export function headerBytes(headers: readonly HeaderField[]): number {
  return headers.reduce((bytes, [name, value]) => bytes + name.length + value.length + 4, 0);
}
