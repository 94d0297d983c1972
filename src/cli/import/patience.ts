import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../kernel/errors.ts';

const pauseMs = 1000;

/** An import of hours must not end because a store was restarted: asks again until it answers, or the signal is aborted. Other errors are thrown. */
export async function withPatience<T>(work: () => Promise<T>, { signal, note }: { readonly signal: AbortSignal; readonly note: (text: string) => void }): Promise<T> {
  for (let told = false; ; told = true) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'dependency_unavailable' || signal.aborted) throw error;
      if (!told) note(`${error.message}; trying again until it answers`);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
