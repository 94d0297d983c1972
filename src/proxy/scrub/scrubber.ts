import type { Automaton, Cursor } from './automaton.ts';
import { buildAutomaton } from './automaton.ts';
import { secretForms } from './secret-forms.ts';

/** One body on its way. What comes out is, over the whole body, as long as what went in, whatever the chunks. */
export type BodyScrub = {
  /** What of the body so far is decided; may be empty. The chunk itself when there is nothing to mask and nothing held: treat both as read-only. */
  readonly push: (chunk: Buffer) => Buffer;
  /** The rest, once the body has ended. */
  readonly end: () => Buffer;
};

export type Scrubber = {
  /** A header's value as Node gives it, one character for each byte. */
  readonly header: (value: string) => string;
  readonly body: () => BodyScrub;
};

const mask = 0x2a;
const nothing = Buffer.alloc(0);

/**
 * Masks secrets in what comes back from an upstream that they were sent to (attacks 112): each byte of each occurrence, in any of the
 * spellings of `secretForms`, becomes `*`. Lengths never change, so framing, `content-length` and ranges stay right, and `*` may stand
 * in JSON, HTML, URLs and headers alike. Texts under 8 bytes are not looked for. Linear in the body, at most one spelling is held back,
 * and only while the end of a chunk begins one.
 */
export function createScrubber(secrets: readonly string[]): Scrubber {
  const automaton = buildAutomaton(secretForms(secrets));
  return scrubberOf(automaton);
}

export function scrubberOf(automaton: Automaton): Scrubber {
  return {
    header(value) {
      const scrub = bodyScrub(automaton);
      const before = Buffer.from(value, 'latin1');
      const decided = scrub.push(before);
      const after = Buffer.concat([decided, scrub.end()]);
      return after.equals(before) ? value : after.toString('latin1');
    },
    body: () => bodyScrub(automaton),
  };
}

function bodyScrub({ advance, matched, depth }: Automaton): BodyScrub {
  const cursor: Cursor = { state: 0, index: 0 };
  let held: Buffer = nothing;
  // The last masked stretch, counted from the first held byte: what is masked is decided and need not be held.
  let maskedFrom = 0;
  let maskedTo = 0;

  return {
    push(chunk) {
      const input = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      let output = held.length === 0 ? undefined : input;
      cursor.index = held.length;
      while (advance(cursor, input)) {
        // Not the bytes that came: those of the chunk belong to the caller.
        output ??= Buffer.from(input);
        const to = cursor.index;
        const from = Math.max(0, to - matched[cursor.state]!);
        if (from >= maskedFrom && from <= maskedTo) output.fill(mask, maskedTo, to);
        else {
          output.fill(mask, from, to);
          maskedFrom = from;
        }
        maskedTo = to;
      }
      output ??= input;
      const undecidedFrom = Math.max(0, input.length - depth[cursor.state]!);
      const decided = undecidedFrom >= maskedFrom && undecidedFrom < maskedTo ? maskedTo : undecidedFrom;
      // A copy: a slice would keep the whole chunk alive while little is held.
      held = decided === output.length ? nothing : Buffer.from(output.subarray(decided));
      maskedFrom = Math.max(0, maskedFrom - decided);
      maskedTo = Math.max(0, maskedTo - decided);
      return decided === output.length ? output : output.subarray(0, decided);
    },
    end() {
      const rest = held;
      held = nothing;
      cursor.state = 0;
      maskedFrom = 0;
      maskedTo = 0;
      return rest;
    },
  };
}
