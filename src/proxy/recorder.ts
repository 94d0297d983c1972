import type { EmittedEvent, InvalidEventError, InvalidEventMode } from '../events/emitter.ts';
import { createEmitter } from '../events/emitter.ts';
import { encodeLine } from '../events/line.ts';
import type { Journal } from '../journal/journal.ts';

/**
 * Puts one row into the journal. Resolves when the row is written; rejects when it is not (journal full or closed, disk error, or in
 * development a row that breaks the catalog). Only then may the request it belongs to be answered as decided.
 */
export type Recorder = (emitted: EmittedEvent) => Promise<void>;

export type RecorderDeps = {
  readonly journal: Pick<Journal, 'append' | 'nextSeq'>;
  readonly mode: InvalidEventMode;
  readonly retentionDays: number;
  readonly onInvalid: (error: InvalidEventError) => void;
};

export function createRecorder({ journal, mode, retentionDays, onInvalid }: RecorderDeps): Recorder {
  const emitter = createEmitter({ mode, nextSeq: () => journal.nextSeq(), onInvalid });
  return async (emitted) => {
    const event = emitter.build(emitted);
    await journal.append(encodeLine(event, retentionDays), event.timestamp);
  };
}
