import { filterPredicate, parseFilters } from '../../query/filter.ts';
import { compileMatcher } from '../../query/match.ts';
import { activityFilters } from '../../query/page-request.ts';
import { allOf } from '../../query/predicate.ts';
import { FieldProblems } from '../../query/problems.ts';
import { eventVisibility, needsOwnWorkspaces, workspaceActivityVisibility } from '../../query/visibility.ts';
import { eventStream } from '../answers.ts';
import { openStream } from '../open-stream.ts';
import { apiKey, eventType, filter, parameters, taskId, workspaceParams } from '../parameters.ts';
import { defineRoute } from '../route.ts';
import type { RouteFactory } from '../route.ts';
import { ownWorkspaceIds, workspaceOf } from '../workspace-lookup.ts';

/** `GET /audit/stream` (contract 4.5): the rows of `/audit` as they are committed. */
export const auditStream: RouteFactory = (deps) => defineRoute(
  { summary: 'Live stream of the audit log', querystring: parameters({ filter, api_key: apiKey }), response: { 200: eventStream } },
  ({ query, caller, request, reply }) => {
    const filtered = filterPredicate(parseFilters(query.filter ?? []));
    const matcher = (ownIds: readonly string[]) => compileMatcher(allOf([eventVisibility(caller, ownIds).predicate, filtered]));
    let ownIds: string[] = [];
    return openStream(deps, {
      orgId: caller.orgId,
      event: 'audit',
      matches: async () => {
        ownIds = await ownWorkspaceIds(deps, caller);
        return matcher(ownIds);
      },
      workspaceCreated: (event) => {
        if (!needsOwnWorkspaces(caller) || event.user_id !== caller.userId || event.workspace_id === undefined || ownIds.includes(event.workspace_id)) return undefined;
        ownIds = [...ownIds, event.workspace_id];
        return matcher(ownIds);
      },
    }, request, reply);
  },
);

/** `GET /workspaces/{id}/activity/stream` (contract 4.5). */
export const workspaceActivityStream: RouteFactory = (deps) => defineRoute(
  { summary: 'Live stream of one workspace\'s activity', querystring: parameters({ event_type: eventType, task_id: taskId, filter, api_key: apiKey }), params: workspaceParams, response: { 200: eventStream } },
  async ({ query, params, caller, request, reply }) => {
    const visibility = workspaceActivityVisibility(caller, await workspaceOf(deps, caller, params.id));
    const problems = new FieldProblems();
    const filters = [...problems.take(() => activityFilters(query)) ?? [], ...problems.take(() => parseFilters(query.filter ?? [])) ?? []];
    problems.throwIfAny();
    const matcher = compileMatcher(allOf([visibility.predicate, filterPredicate(filters)]));
    return openStream(deps, { orgId: caller.orgId, event: 'activity', matches: async () => matcher }, request, reply);
  },
);
