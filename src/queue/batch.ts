/** What is known of a batch without its rows (design 5). Cut once at its source and never again: the same id always carries the same bytes. */
export type BatchPointer = {
  /** UUIDv7; also the BullMQ job id and ClickHouse's insert_deduplication_token. */
  readonly id: string;
  readonly producer: string;
  /** Gapless from 1 per producer. */
  readonly batchNo: number;
  readonly rows: number;
  /** Length of the payload. */
  readonly bytes: number;
  /** Least and greatest row timestamp, RFC 3339 with microseconds. */
  readonly minTimestamp: string;
  readonly maxTimestamp: string;
};

/** `payload` is zstd of the stamped NDJSON lines. */
export type SealedBatch = BatchPointer & { readonly payload: Buffer };

/** Where batches wait until they are stored. Only `confirm` may delete one. */
export type BatchSource = {
  /** Unconfirmed batches, oldest first. */
  readonly pending: (limit: number) => Promise<BatchPointer[]>;
  /** undefined when it was confirmed meanwhile. */
  readonly load: (id: string) => Promise<SealedBatch | undefined>;
  /** Deletes the batch at its source; a repeated call does nothing. */
  readonly confirm: (id: string) => Promise<void>;
};
