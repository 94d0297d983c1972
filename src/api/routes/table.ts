import { readScopes } from '../../query/visibility.ts';
import type { RouteRow } from '../route.ts';
import { workspaceActivity } from './activity.ts';
import { auditPage, workspaceAuditPage } from './audit.ts';
import { auditExport } from './export.ts';
import { healthz, readyz } from './health.ts';
import { metrics } from './metrics.ts';
import { openapi } from './openapi.ts';
import { session } from './session.ts';
import { auditStats, workspaceAuditStats } from './stats.ts';
import { auditStream, workspaceActivityStream } from './streams.ts';

const activityScopes = ['workspace:read', 'workspace:read:own'] as const;

/**
 * Every route of the API (contract 4). A new endpoint is a file beside this one and a row here; tests walk the table, so a row without
 * scopes, document or tenant isolation is found.
 */
export const routeTable: readonly RouteRow[] = [
  { method: 'GET', path: '/v1/audit', scopes: readScopes, tag: 'audit', route: auditPage },
  { method: 'GET', path: '/v1/audit/stats', scopes: readScopes, tag: 'audit', route: auditStats },
  { method: 'GET', path: '/v1/audit/stream', scopes: readScopes, tag: 'audit', stream: true, route: auditStream },
  { method: 'GET', path: '/v1/audit/export', scopes: readScopes, tag: 'audit', route: auditExport },
  { method: 'GET', path: '/v1/workspaces/{id}/audit', scopes: readScopes, tag: 'workspaces', route: workspaceAuditPage },
  { method: 'GET', path: '/v1/workspaces/{id}/audit/stats', scopes: readScopes, tag: 'workspaces', route: workspaceAuditStats },
  { method: 'GET', path: '/v1/workspaces/{id}/activity', scopes: activityScopes, tag: 'workspaces', route: workspaceActivity },
  { method: 'GET', path: '/v1/workspaces/{id}/activity/stream', scopes: activityScopes, tag: 'workspaces', stream: true, route: workspaceActivityStream },
  { method: 'GET', path: '/v1/session', scopes: [], tag: 'session', route: session },
  { method: 'GET', path: '/v1/openapi.json', scopes: 'public', tag: 'service', route: openapi },
  { method: 'GET', path: '/healthz', scopes: 'public', tag: 'service', unlimited: true, route: healthz },
  { method: 'GET', path: '/readyz', scopes: 'public', tag: 'service', unlimited: true, route: readyz },
  { method: 'GET', path: '/metrics', scopes: 'public', tag: 'service', unlimited: true, route: metrics },
];
