import type { Logger } from 'pino';
import type { Settings } from '../config/settings.ts';
import type { Identity } from '../identity/resolve.ts';
import type { AuditReader } from '../store/ch/reader.ts';
import type { WorkspaceStore } from '../store/pg/workspaces.ts';
import type { Hub } from '../stream/hub.ts';
import type { ApiMetrics } from './metrics.ts';

export type ApiSettings = Pick<Settings,
  | 'host' | 'apiPort' | 'publicBaseUrl' | 'trustedProxies' | 'logLevel' | 'rateLimitPerMinute' | 'apiBodyBytesMax' | 'apiRequestTimeoutMs'
  | 'streamDurationMs' | 'streamHeartbeatMs' | 'streamBufferBytesMax' | 'streamClientsMax' | 'exportTimeoutMs' | 'shutdownMs'>;

/** Resolves when the dependency answers; rejects, or is too slow, when it is down. */
export type ReadinessCheck = (signal: AbortSignal) => Promise<unknown>;

/** Everything the routes may use. There is nothing else: no globals, no decorators. */
export type ApiDeps = {
  readonly settings: ApiSettings;
  readonly identity: Identity;
  readonly reader: AuditReader;
  readonly workspaces: Pick<WorkspaceStore, 'workspaceById' | 'workspaceIdsCreatedBy'>;
  readonly hub: Hub;
  readonly readiness: Readonly<Record<string, ReadinessCheck>>;
  readonly metrics: ApiMetrics;
  readonly logger: Logger;
};
