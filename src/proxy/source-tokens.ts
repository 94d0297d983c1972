import { Secret } from '../kernel/secret.ts';
import { readAddress } from './upstream/address.ts';

/**
 * Whose connections come from which address. An agent that does not know of the proxy shows no token: what comes through the transparent
 * doors is told by where it comes from. Only as good as the network: addresses must not be shared, nor taken by others.
 */
export type SourceTokens = {
  /** The capability token of an address in any spelling (`::ffff:10.0.0.1` is `10.0.0.1`); undefined for one that nobody is known for. */
  tokenOf(address: string | undefined): Secret | undefined;
  readonly size: number;
};

/** Reads PROXY_SOURCES: comma-separated `ADDRESS=CAPABILITY_TOKEN`. Throws naming the first entry that is none, by its place: the text may hold a token. */
export function readSourceTokens(text: string): SourceTokens {
  const tokens = new Map<string, Secret>();
  for (const [index, entry] of text.split(',').map((part) => part.trim()).entries()) {
    if (entry === '') continue;
    const mark = entry.indexOf('=');
    const address = mark === -1 ? undefined : readAddress(entry.slice(0, mark).trim());
    const token = entry.slice(mark + 1).trim();
    if (address === undefined || !/^[\x21-\x7e]+$/.test(token)) throw new Error(`PROXY_SOURCES: entry ${index + 1} is not ADDRESS=CAPABILITY_TOKEN`);
    if (tokens.has(address.text)) throw new Error(`PROXY_SOURCES: ${address.text} has two tokens`);
    tokens.set(address.text, new Secret(token));
  }
  return {
    tokenOf(address) {
      const read = tokens.size === 0 || address === undefined ? undefined : readAddress(address);
      return read === undefined ? undefined : tokens.get(read.text);
    },
    size: tokens.size,
  };
}
