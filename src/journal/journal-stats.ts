/** What the metrics of a journal are made of. */
export type JournalStats = {
  /** Batches that can be shipped and are not confirmed. */
  readonly batches: number;
  /** Rows accepted and not confirmed. */
  readonly rows: number;
  /** Bytes of sealed, unconfirmed batches. */
  readonly bytes: number;
  /** Bytes of all files, open segments and the reserve included. */
  readonly diskBytes: number;
  readonly openRows: number;
  readonly openIntents: number;
  /** Age of the oldest unconfirmed row in ms, 0 when there is none. */
  readonly oldestMs: number;
  readonly lastBatchRows: number;
  readonly lastBatchBytes: number;
  readonly lastSealMs: number;
  /** False while the disk has no room: rows are refused then. */
  readonly reserveHeld: boolean;
  /** What opening this journal found. */
  readonly recovered: { readonly rows: number; readonly interrupted: number; readonly damaged: number };
};
