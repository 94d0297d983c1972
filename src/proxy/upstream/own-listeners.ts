import { networkInterfaces } from 'node:os';
import type { Address } from './address.ts';
import { readAddress, readRange, isIn } from './address.ts';

/** Where this process listens. `host` is what it bound: an address, a wildcard, or a name. */
export type Listener = { readonly host: string; readonly port: number };

const loopback = ['127.0.0.0/8', '::1'].flatMap((text) => readRange(text) ?? []);
const interfacesMs = 10_000;

/**
 * Tells whether an address is one of our own listeners: dialling it would send requests round in a circle, or hand agents the admin port
 * (attacks 37). A listener bound to a wildcard or a name is reached at every address of this machine.
 */
export function createOwnListeners(listeners: () => readonly Listener[], nowMs: () => number = Date.now): (address: Address, port: number) => boolean {
  let local: { readonly texts: ReadonlySet<string>; readonly readMs: number } | undefined;
  const isLocal = (address: Address): boolean => {
    if (isIn(address, loopback)) return true;
    if (local === undefined || nowMs() - local.readMs > interfacesMs) {
      const found = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
      local = { texts: new Set(found.flatMap(({ address: text }) => readAddress(text)?.text ?? [])), readMs: nowMs() };
    }
    return local.texts.has(address.text);
  };
  return (address, port) => listeners().some((listener) => {
    if (listener.port !== port) return false;
    const bound = readAddress(listener.host);
    if (bound === undefined || bound.bits === 0n) return isLocal(address);
    return bound.text === address.text;
  });
}
