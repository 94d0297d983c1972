import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import type { Journal } from '../journal/journal.ts';

export type ProxyMetrics = {
  readonly registry: Registry;
  readonly decided: (reason: string) => void;
  /** Requests answered 503 because they could not be recorded. */
  readonly unrecorded: () => void;
};

/** A gauge of a part that the role has made. */
export type PartGauge = { readonly name: string; readonly help: string; readonly read: () => number };

type Sources = {
  readonly journal: Pick<Journal, 'stats'>;
  readonly connections: () => number;
  readonly openRequests: () => number;
  readonly transparentConnections: () => number;
  readonly parts: readonly PartGauge[];
  readonly dns: { readonly openQueries: () => number; readonly connections: () => number; readonly names: () => number };
};

/** Metrics of the proxy role. Gauges are read from their source when they are asked for. */
export function createProxyMetrics({ journal, connections, openRequests, transparentConnections, dns, parts }: Sources): ProxyMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const decisions = new Counter({ name: 'customhouse_proxy_decisions_total', help: 'Requests decided and recorded, by deny reason', labelNames: ['reason'], registers });
  const unrecorded = new Counter({ name: 'customhouse_proxy_unrecorded_total', help: 'Requests answered 503 because their row could not be written', registers });
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({ name, help, registers, collect() { this.set(read()); } });
  };
  gauge('customhouse_proxy_connections', 'Client connections', connections);
  gauge('customhouse_proxy_open_requests', 'Requests whose row is not written yet', openRequests);
  gauge('customhouse_proxy_transparent_connections', 'Connections of transparent TLS, also before the end of their handshake', transparentConnections);
  gauge('customhouse_proxy_dns_open_queries', 'DNS queries not answered yet', dns.openQueries);
  gauge('customhouse_proxy_dns_connections', 'TCP connections of the DNS door', dns.connections);
  gauge('customhouse_proxy_dns_synthetic_names', 'Denied names that have a synthetic address', dns.names);
  for (const { name, help, read } of parts) gauge(name, help, read);
  gauge('customhouse_journal_unconfirmed_rows', 'Rows accepted and not yet confirmed as stored', () => journal.stats().rows);
  gauge('customhouse_journal_unconfirmed_batches', 'Sealed batches not yet confirmed as stored', () => journal.stats().batches);
  gauge('customhouse_journal_disk_bytes', 'Bytes of all files of the journal', () => journal.stats().diskBytes);
  gauge('customhouse_journal_oldest_unconfirmed_seconds', 'Age of the oldest unconfirmed row', () => journal.stats().oldestMs / 1000);
  gauge('customhouse_journal_open_intents', 'Admitted requests whose row is not written yet', () => journal.stats().openIntents);
  gauge('customhouse_journal_last_batch_rows', 'Rows of the batch sealed last', () => journal.stats().lastBatchRows);
  gauge('customhouse_journal_last_seal_seconds', 'Time the last batch took to seal', () => journal.stats().lastSealMs / 1000);
  gauge('customhouse_journal_recovered_rows', 'Rows that the last process left unsealed', () => journal.stats().recovered.rows);
  gauge('customhouse_journal_damaged_records', 'Records the disk gave back damaged when the journal was opened', () => journal.stats().recovered.damaged);
  // Looking a label up costs more than counting.
  const byReason = new Map<string, Counter.Internal>();
  return {
    registry,
    decided: (reason) => {
      const known = byReason.get(reason);
      if (known !== undefined) return known.inc();
      const counter = decisions.labels({ reason });
      byReason.set(reason, counter);
      counter.inc();
    },
    unrecorded: () => unrecorded.inc(),
  };
}
