import { randomBytes } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import { createSecureContext } from 'node:tls';

const sessionTimeoutSeconds = 3600;
const ticketKeyBytes = 48;
/** What OpenSSL holds for one context (measured: 33 KB with a P-256 leaf). */
const nativeBytes = 32_768;

/** Makes the context of one certificate chain, in PEM. */
export type MakeContext = (chainPem: string) => SecureContext;

/**
 * Contexts that share one leaf key and one set of ticket keys, so a client resumes its session whichever context answers, also after
 * its leaf was minted anew.
 */
export function createContextMaker(leafKeyPem: string): MakeContext {
  const ticketKeys = randomBytes(ticketKeyBytes);
  /**
   * V8 counts 1 KB for a context, so an agent that goes through ever new names makes the process grow by hundreds of MB before an
   * old-space collection frees the dropped ones. A buffer that lives as long as the context, and is never written, makes it count right.
   */
  const weights = new WeakMap<SecureContext, Buffer>();
  return (chainPem) => {
    const context = createSecureContext({
      key: leafKeyPem,
      cert: chainPem,
      // An empty store: the default one holds all public roots, and is searched for the leaf's chain in each handshake.
      ca: [],
      minVersion: 'TLSv1.2',
      ticketKeys,
      sessionIdContext: 'customhouse',
      sessionTimeout: sessionTimeoutSeconds,
    });
    weights.set(context, Buffer.allocUnsafeSlow(nativeBytes));
    return context;
  };
}
