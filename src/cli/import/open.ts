import { join } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import type { Journal } from '../../journal/journal.ts';
import { openJournal } from '../../journal/journal.ts';
import type { BatchQueue } from '../../queue/batch-queue.ts';
import { createBatchQueue } from '../../queue/batch-queue.ts';
import type { Shipper } from '../../queue/shipper.ts';
import { createShipper } from '../../queue/shipper.ts';
import { connectClickHouse } from '../../store/ch/connection.ts';
import type { StoredIds } from '../../store/ch/stored-ids.ts';
import { createStoredIds } from '../../store/ch/stored-ids.ts';
import { connectPostgres } from '../../store/pg/connect.ts';
import { createOrgStore } from '../../store/pg/orgs.ts';
import type { OrgStore } from '../../store/pg/orgs.ts';

export type ImportParts = {
  readonly journal: Journal;
  readonly shipper: Shipper;
  readonly queue: BatchQueue;
  readonly orgs: OrgStore;
  readonly storedIds: StoredIds;
  close(): Promise<void>;
};

/** A segment is sealed by the end of a chunk; the timer only serves rows of a run that is stuck. */
const sealMs = 10_000;
const shipPollMs = 200;
const inFlightMax = 16;
/** Bounds the files of one import; reading pauses long before (read-file.ts). */
const diskBytesMax = 2 * 1_073_741_824;

/** The parts of an import: a journal of its own in `dir`, and the way from there to the store. Rejects with the journal's error when another import has the directory. */
export async function openImport(settings: Settings, options: { readonly dir: string; readonly producer: string; readonly onError: (error: unknown) => void }): Promise<ImportParts> {
  const { onError } = options;
  const journal = await openJournal({
    dir: join(options.dir, 'journal'),
    producer: options.producer,
    sealMs,
    sealRows: settings.journalSealRows,
    sealBytes: settings.journalSealBytes,
    diskBytesMax,
    // A checkpoint says that rows are safe, so sealing must reach the disk whatever the proxy's setting is.
    fsync: 'interval',
    onError,
  });
  const sql = connectPostgres({ url: settings.postgresUrl, poolMax: 2, applicationName: 'customhouse-import' });
  const clickhouse = connectClickHouse({ url: settings.clickhouseUrl, user: settings.clickhouseUser, password: settings.clickhousePassword, database: settings.clickhouseDatabase, cluster: settings.clickhouseCluster, connectionsMax: 2 });
  const queue = createBatchQueue({ redisUrl: settings.redisUrl, payloadBytesMax: settings.queuePayloadBytesMax, onError });
  const shipper = createShipper({ source: journal.source, queue, pollMs: shipPollMs, inFlightMax, onError });
  journal.onSealed(() => shipper.poke());
  return {
    journal,
    shipper,
    queue,
    orgs: createOrgStore(sql),
    storedIds: createStoredIds({ clickhouse, limits: { timeoutMs: settings.exportTimeoutMs, memoryBytesMax: settings.queryMemoryBytesMax }, onError }),
    async close() {
      await shipper.stop();
      await journal.close();
      await Promise.allSettled([queue.close(), clickhouse.close(), sql.end({ timeout: 5 })]);
    },
  };
}
