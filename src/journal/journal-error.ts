/** The bound that was met: bytes of unconfirmed batches on disk, or bytes in memory that wait for a disk that is slower than its callers. */
export type JournalBound = 'disk' | 'memory';

/** The journal holds as much as it may. Nothing of this row was kept; it can be appended again when batches were confirmed. */
export class JournalFullError extends Error {
  readonly bound: JournalBound;

  constructor(bound: JournalBound, bytesMax: number) {
    super(bound === 'disk'
      ? `journal full: its files reached ${bytesMax} bytes; rows are accepted again when batches were stored`
      : `journal full: ${bytesMax} bytes wait for the disk`);
    this.name = 'JournalFullError';
    this.bound = bound;
  }
}

/** The disk refused a write (`code` is the system's: ENOSPC, EDQUOT, EFBIG, EIO, EROFS …). Nothing of this row was kept. */
export class JournalWriteError extends Error {
  readonly code: string;

  constructor(code: string, cause: unknown) {
    super(`journal cannot write: ${code}${code === 'ENOSPC' || code === 'EDQUOT' ? ' (no room on the disk)' : ''}`, { cause });
    this.name = 'JournalWriteError';
    this.code = code;
  }
}

/** The journal was closed; nothing of this row was kept. */
export class JournalClosedError extends Error {
  constructor() {
    super('journal is closed');
    this.name = 'JournalClosedError';
  }
}

/** The directory cannot be opened as a journal: another process owns it, or it belongs to another producer. */
export class JournalOpenError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'JournalOpenError';
  }
}

/** The system's error code of a failed file operation, or `UNKNOWN`. */
export function systemCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'UNKNOWN';
}

/** True when the disk, or this user's share of it, is full. */
export function isNoRoom(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(systemCode(error));
}

/** As JournalWriteError, unless it already is an error of the journal. */
export function asWriteError(error: unknown): Error {
  if (error instanceof JournalWriteError || error instanceof JournalFullError || error instanceof JournalClosedError) return error;
  return new JournalWriteError(systemCode(error), error);
}
