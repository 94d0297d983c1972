import { parseStatsRequest } from '../../query/stats-request.ts';
import { eventVisibility, workspaceEventVisibility } from '../../query/visibility.ts';
import { statsAnswer } from '../answers.ts';
import { bucketBy, filter, from, groupBy, metric, parameters, timeBucket, to, top, workspaceParams } from '../parameters.ts';
import { defineRoute } from '../route.ts';
import type { RouteFactory } from '../route.ts';
import { ownWorkspaceIds, workspaceOf } from '../workspace-lookup.ts';

const querystring = parameters({ group_by: groupBy, time_bucket: timeBucket, bucket_by: bucketBy, metric, top, filter, from, to });

/** `GET /audit/stats` (contract 4.4). */
export const auditStats: RouteFactory = (deps) => defineRoute(
  { summary: 'Aggregation over the audit log', querystring, response: { 200: statsAnswer } },
  async ({ query, caller, signal }) => {
    const visibility = eventVisibility(caller, await ownWorkspaceIds(deps, caller));
    return { buckets: await deps.reader.stats(caller.orgId, parseStatsRequest(visibility, query), signal) };
  },
);

/** `GET /workspaces/{id}/audit/stats` (contract 4.4). */
export const workspaceAuditStats: RouteFactory = (deps) => defineRoute(
  { summary: 'Aggregation over one workspace', description: 'The same as /audit/stats with a filter on the workspace.', querystring, params: workspaceParams, response: { 200: statsAnswer } },
  async ({ query, params, caller, signal }) => {
    const workspace = await workspaceOf(deps, caller, params.id);
    const visibility = workspaceEventVisibility(caller, await ownWorkspaceIds(deps, caller), workspace.id);
    return { buckets: await deps.reader.stats(caller.orgId, parseStatsRequest(visibility, query), signal) };
  },
);
