import type { Automaton } from './automaton.ts';
import { buildAutomaton } from './automaton.ts';
import type { Scrubber } from './scrubber.ts';
import { scrubberOf } from './scrubber.ts';
import { secretForms } from './secret-forms.ts';

/**
 * Scrubbers for the secrets of one request after the other. Building one takes longer than scrubbing a small answer, and the same
 * credentials are sent again and again, so the automata used last are kept, up to `bytesMax` in all.
 */
export function createScrubberCache({ bytesMax }: { readonly bytesMax: number } = { bytesMax: 16 * 1_048_576 }): (secrets: readonly string[]) => Scrubber {
  const automata = new Map<string, Automaton>();
  let bytes = 0;
  return function scrubberFor(secrets) {
    const key = JSON.stringify([...new Set(secrets)].sort());
    const known = automata.get(key);
    const automaton = known ?? buildAutomaton(secretForms(secrets));
    automata.delete(key);
    automata.set(key, automaton);
    if (known === undefined) bytes += automaton.bytes;
    for (const [oldest, { bytes: freed }] of automata) {
      if (bytes <= bytesMax) break;
      automata.delete(oldest);
      bytes -= freed;
    }
    return scrubberOf(automaton);
  };
}
