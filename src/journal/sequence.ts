import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { nowMicros } from '../kernel/clock.ts';
import { JournalOpenError, asWriteError, systemCode } from './journal-error.ts';

export type Sequence = { readonly next: () => number; readonly release: () => void };

type State = { version: 1; producer: string; seqFloor: number };

/** Numbers promised to the running process at a time: one small write per ten million rows. */
const reservation = 10_000_000;

function readState(path: string): State | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  let state: Partial<State>;
  try {
    state = JSON.parse(text) as Partial<State>;
  } catch (error) {
    throw new JournalOpenError(`${path}: not JSON`, { cause: error });
  }
  if (state.version !== 1 || typeof state.producer !== 'string' || !Number.isSafeInteger(state.seqFloor)) throw new JournalOpenError(`${path}: not a journal's state`);
  return state as State;
}

function writeState(path: string, state: State): void {
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, 'w');
  try {
    writeSync(file, `${JSON.stringify(state)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/**
 * source_seq of one producer (contract 2.1): ascends over restarts, also when the clock was set back. It starts at the microsecond
 * clock or at the floor on disk, whichever is higher. The floor is written before the numbers under it are given out, so a crash
 * skips numbers and never repeats one.
 */
export function openSequence(dir: string, producer: string): Sequence {
  const path = join(dir, 'journal.json');
  const state = readState(path);
  if (state !== undefined && state.producer !== producer) {
    throw new JournalOpenError(`journal ${dir} belongs to producer ${state.producer}, not ${producer}: batch numbers count per producer, so use another directory or the same name`);
  }
  let nextSeq = Math.max(state?.seqFloor ?? 0, nowMicros());
  let floor = nextSeq;

  function reserve(seqFloor: number): void {
    writeState(path, { version: 1, producer, seqFloor });
    floor = seqFloor;
  }

  function reserveMore(): void {
    try {
      reserve(nextSeq + reservation);
    } catch (error) {
      throw asWriteError(error);
    }
  }

  // A new directory is claimed for its producer at once; an old one waits for the first number, because its disk may be full now.
  if (state === undefined) reserveMore();
  return {
    next() {
      if (nextSeq >= floor) reserveMore();
      nextSeq += 1;
      return nextSeq - 1;
    },
    release() {
      if (floor > nextSeq) reserve(nextSeq);
    },
  };
}
