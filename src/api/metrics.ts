import type { FastifyInstance } from 'fastify';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { AuditReader } from '../store/ch/reader.ts';

/** Metrics of the api role. Labels are route patterns and codes, never ids: their number is bounded. */
export type ApiMetrics = {
  readonly registry: Registry;
  readonly requestSeconds: Histogram<'method' | 'route' | 'status'>;
  readonly streamsOpen: Gauge<'route'>;
  readonly streamsClosed: Counter<'route' | 'reason'>;
  readonly streamEvents: Counter<'route'>;
  readonly exportedRows: Counter<'format'>;
};

export function createApiMetrics(): ApiMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    requestSeconds: new Histogram({
      name: 'customhouse_api_request_seconds', help: 'Time from the arrival of a request to the end of its answer', labelNames: ['method', 'route', 'status'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15], registers,
    }),
    streamsOpen: new Gauge({ name: 'customhouse_api_streams_open', help: 'Live streams with a client', labelNames: ['route'], registers }),
    streamsClosed: new Counter({ name: 'customhouse_api_streams_closed_total', help: 'Live streams that ended, by reason', labelNames: ['route', 'reason'], registers }),
    streamEvents: new Counter({ name: 'customhouse_api_stream_events_total', help: 'Rows written to live streams', labelNames: ['route'], registers }),
    exportedRows: new Counter({ name: 'customhouse_api_exported_rows_total', help: 'Rows of complete exports', labelNames: ['format'], registers }),
  };
}

/** Audit queries and exports that run and wait right now, read when metrics are asked for. */
export function observeReads(metrics: ApiMetrics, reader: Pick<AuditReader, 'load'>): void {
  new Gauge({
    name: 'customhouse_api_reads', help: 'Audit reads of this process by kind and state', labelNames: ['kind', 'state'], registers: [metrics.registry],
    collect() {
      for (const [kind, load] of Object.entries(reader.load())) {
        for (const [state, count] of Object.entries(load)) this.set({ kind, state }, count);
      }
    },
  });
}

/** Observes every answered request except live streams, whose length says nothing. */
export function observeRequests(app: FastifyInstance, metrics: ApiMetrics): void {
  app.addHook('onResponse', async (request, reply) => {
    const { row } = request.routeOptions.config;
    if (row?.stream === true) return;
    const route = row?.path ?? (request.is404 ? 'unknown' : 'docs');
    metrics.requestSeconds.observe({ method: request.method, route, status: String(reply.statusCode) }, reply.elapsedTime / 1000);
  });
}
