import type { EmittedEvent, InvalidEventError, InvalidEventMode } from '../events/emitter.ts';
import { createEmitter } from '../events/emitter.ts';
import { encodeLine } from '../events/line.ts';
import type { Journal } from '../journal/journal.ts';

/**
 * Puts rows into the journal. `row` resolves when it is written, and settles the intent of the same id; both reject when they are not
 * (journal full or closed, disk error, or in development a row that breaks the catalog). Only then may the request be answered as decided.
 */
export type Recorder = {
  readonly row: (emitted: EmittedEvent) => Promise<void>;
  /** A row that counts only when this process dies before the real one: it must carry its id. */
  readonly intent: (emitted: EmittedEvent & { readonly id?: string }) => Promise<void>;
};

export type RecorderDeps = {
  readonly journal: Pick<Journal, 'append' | 'intent' | 'nextSeq'>;
  readonly mode: InvalidEventMode;
  readonly retentionDays: number;
  readonly onInvalid: (error: InvalidEventError) => void;
};

export function createRecorder({ journal, mode, retentionDays, onInvalid }: RecorderDeps): Recorder {
  const emitter = createEmitter({ mode, nextSeq: () => journal.nextSeq(), onInvalid });
  const intents = new Set<string>();
  return {
    async row(emitted) {
      const event = emitter.build(emitted);
      const closes = intents.delete(event.id);
      await journal.append(encodeLine(event, retentionDays), event.timestamp, closes ? { closes: event.id } : {});
    },
    async intent(emitted) {
      const event = emitter.build(emitted);
      await journal.intent(event.id, encodeLine(event, retentionDays), event.timestamp);
      intents.add(event.id);
    },
  };
}
