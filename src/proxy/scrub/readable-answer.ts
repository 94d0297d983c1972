import type { HeaderField } from '../../transforms/contract.ts';

/** Asked for by the agent, they make an answer that cannot be searched: compressed, or in pieces that each hold half of a secret. */
const unsearchable = /^(?:accept-encoding|range|if-range)$/i;

/**
 * The headers of a request that secrets were put into, asking for a whole and uncompressed answer. The agent gets its answer as if the
 * upstream knew neither compression nor ranges, which every client must take (RFC 9110, 12.5.3 and 14.2).
 */
export function askingReadable(headers: readonly HeaderField[]): readonly HeaderField[] {
  return [...headers.filter(([name]) => !unsearchable.test(name)), ['accept-encoding', 'identity']];
}

/**
 * Whether an answer's body can be searched. Upstreams may compress or cut against the wish: such an answer must not reach the agent.
 * `headers` are those of the answer; a repeated one counts each time.
 */
export function isReadableAnswer(headers: readonly HeaderField[]): boolean {
  return headers.every(([name, value]) => {
    const lower = name.toLowerCase();
    const codings = value.toLowerCase().split(',').map((coding) => coding.trim()).filter((coding) => coding !== '');
    if (lower === 'content-encoding') return codings.every((coding) => coding === 'identity');
    if (lower === 'transfer-encoding') return codings.every((coding) => coding === 'chunked' || coding === 'identity');
    return lower !== 'content-range';
  });
}
