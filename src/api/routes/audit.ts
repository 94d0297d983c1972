import { parsePageRequest } from '../../query/page-request.ts';
import { eventVisibility, workspaceAuditVisibility } from '../../query/visibility.ts';
import { eventPage } from '../answers.ts';
import { cursor, filter, from, limit, order, parameters, to, workspaceParams } from '../parameters.ts';
import { sendPage } from '../send-page.ts';
import { defineRoute } from '../route.ts';
import type { RouteFactory } from '../route.ts';
import { ownWorkspaceIds, workspaceOf } from '../workspace-lookup.ts';

const querystring = parameters({ filter, from, to, order: order('desc'), limit, cursor });

/** `GET /audit` (contract 4.1). */
export const auditPage: RouteFactory = (deps) => defineRoute(
  { summary: 'Rows of the audit log', description: 'Every row the caller\'s scopes show, newest first unless asked otherwise.', querystring, response: { 200: eventPage } },
  async ({ query, caller, reply, signal }) => {
    const visibility = eventVisibility(caller, await ownWorkspaceIds(deps, caller));
    return sendPage(deps, reply, caller.orgId, parsePageRequest(caller.orgId, visibility, query), signal);
  },
);

/** `GET /workspaces/{id}/audit` (contract 4.2). */
export const workspaceAuditPage: RouteFactory = (deps) => defineRoute(
  { summary: 'Rows of one workspace', description: 'Audit scopes show its audit rows, workspace scopes its activity rows.', querystring, params: workspaceParams, response: { 200: eventPage } },
  async ({ query, params, caller, reply, signal }) => {
    const visibility = workspaceAuditVisibility(caller, await workspaceOf(deps, caller, params.id));
    return sendPage(deps, reply, caller.orgId, parsePageRequest(caller.orgId, visibility, query), signal);
  },
);
