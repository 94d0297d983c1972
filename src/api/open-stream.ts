import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditEvent } from '../events/event.ts';
import { AppError } from '../kernel/errors.ts';
import type { Subscription } from '../stream/hub.ts';
import type { EventName } from '../stream/row.ts';
import { serveEventStream } from '../stream/serve-event-stream.ts';
import { eventStreamHeaders } from '../stream/sse.ts';
import type { ApiDeps } from './deps.ts';

type Matches = (event: AuditEvent) => boolean;

export type StreamPlan = {
  readonly orgId: string;
  readonly event: EventName;
  /** Filters and visibility; asked once the place of the stream is fixed, so that what it looks up cannot be older than the stream. */
  readonly matches: () => Promise<Matches>;
  /** For a visibility by ownership: told of each new workspace before its row is decided on; a function answered replaces `matches`. */
  readonly workspaceCreated?: (event: AuditEvent) => Matches | undefined;
};

function lastEventId(request: FastifyRequest): string | undefined {
  const header = request.headers['last-event-id'];
  return typeof header === 'string' ? header : undefined;
}

/**
 * Serves a live stream (contract 4.5): subscribes, so that a failure can still become a status, then sends the headers, then rows.
 * After the hijack the answer belongs to the stream; the request's log line is written when it ends.
 */
export async function openStream(deps: Pick<ApiDeps, 'hub' | 'settings' | 'metrics'>, plan: StreamPlan, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { hub, settings, metrics } = deps;
  if (hub.stats().clients >= settings.streamClientsMax) throw new AppError('rate_limited', 'this server has as many live streams as it may; try again shortly', { retry_after: 5 });
  // The hub may tell of a workspace only after `start`, when this is set.
  const current: { subscription?: Subscription } = {};
  const { workspaceCreated } = plan;
  const subscription = await hub.subscribe({
    orgId: plan.orgId,
    matches: () => false,
    lastEventId: lastEventId(request),
    ...(workspaceCreated === undefined ? {} : {
      workspaceCreated: (event: AuditEvent) => {
        const matches = workspaceCreated(event);
        if (matches !== undefined) current.subscription?.refresh(matches);
      },
    }),
  });
  current.subscription = subscription;
  try {
    subscription.refresh(await plan.matches());
  } catch (error) {
    subscription.unsubscribe();
    throw error;
  }
  const route = request.routeOptions.config.row?.path ?? '';
  reply.hijack();
  reply.raw.writeHead(200, { ...headersOf(reply), ...eventStreamHeaders });
  metrics.streamsOpen.inc({ route });
  serveEventStream({
    subscription,
    output: reply.raw,
    event: plan.event,
    bufferBytesMax: settings.streamBufferBytesMax,
    heartbeatMs: settings.streamHeartbeatMs,
    durationMs: settings.streamDurationMs,
    onClosed: (reason) => {
      metrics.streamsOpen.dec({ route });
      metrics.streamsClosed.inc({ route, reason });
      request.log.info({ reason }, 'stream closed');
    },
  });
  return reply;
}

/** Headers that hooks have set: they would be lost, as the answer is not sent by the framework. */
export function headersOf(reply: FastifyReply): Record<string, string | number | string[]> {
  return Object.fromEntries(Object.entries(reply.getHeaders()).filter((entry): entry is [string, string | number | string[]] => entry[1] !== undefined));
}
