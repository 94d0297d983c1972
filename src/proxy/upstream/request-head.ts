import { writeAuthority } from '../../kernel/host.ts';
import type { OutgoingRequest } from '../../transforms/contract.ts';

/** Set by us or about one hop. `expect` was answered by the front door: an upstream's 100 would come too late or never (attacks 59). */
const own: ReadonlySet<string> = new Set([
  'host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'trailer', 'upgrade', 'expect',
]);

/** Headers for undici, names and values in turn. Host comes from the decision; a stream's length from what the agent declared, a buffer's from the buffer. */
export function headOf({ scheme, host, port, headers }: OutgoingRequest, streamLength: number | undefined): string[] {
  const head = ['host', writeAuthority(scheme, host, port)];
  if (streamLength !== undefined) head.push('content-length', String(streamLength));
  for (const [name, value] of headers) if (!own.has(name.toLowerCase())) head.push(name, value);
  return head;
}
