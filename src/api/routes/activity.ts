import { parseActivityRequest } from '../../query/page-request.ts';
import { workspaceActivityVisibility } from '../../query/visibility.ts';
import { eventPage } from '../answers.ts';
import { after, cursor, eventType, limit, order, parameters, taskId, workspaceParams } from '../parameters.ts';
import { sendPage } from '../send-page.ts';
import { defineRoute } from '../route.ts';
import type { RouteFactory } from '../route.ts';
import { workspaceOf } from '../workspace-lookup.ts';

const querystring = parameters({ task_id: taskId, event_type: eventType, after, cursor, order: order('asc'), limit });

/** `GET /workspaces/{id}/activity` (contract 4.3). */
export const workspaceActivity: RouteFactory = (deps) => defineRoute(
  { summary: 'Activity of one workspace', description: 'Task lifecycle, agent events and workspace state changes, oldest first unless asked otherwise.', querystring, params: workspaceParams, response: { 200: eventPage } },
  async ({ query, params, caller, reply, signal }) => {
    const visibility = workspaceActivityVisibility(caller, await workspaceOf(deps, caller, params.id));
    return sendPage(deps, reply, caller.orgId, parseActivityRequest(caller.orgId, visibility, query), signal);
  },
);
