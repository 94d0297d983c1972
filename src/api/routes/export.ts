import Type from 'typebox';
import { parsePageRequest } from '../../query/page-request.ts';
import { eventVisibility } from '../../query/visibility.ts';
import { exportFormats } from '../../store/ch/export.ts';
import { filter, from, order, parameters, to } from '../parameters.ts';
import { defineRoute } from '../route.ts';
import type { RouteFactory } from '../route.ts';
import { sendExport } from '../send-export.ts';
import { ownWorkspaceIds } from '../workspace-lookup.ts';

const format = Type.Enum([...exportFormats], { type: 'string', default: 'ndjson', description: 'In CSV a cell that a spreadsheet would run as a formula starts with an apostrophe' });
const text = Type.String();

/** `GET /audit/export` (design 7, beyond the contract): every row that `/audit` would page through, in one answer. */
export const auditExport: RouteFactory = (deps) => defineRoute(
  {
    summary: 'Export of the audit log',
    description: 'Complete or visibly failed: the trailers x-export-rows and x-export-sha256 follow a complete body, and a failure breaks the connection.',
    querystring: parameters({ format, filter, from, to, order: order('desc') }),
    response: { 200: { description: 'All rows', content: { 'application/x-ndjson': { schema: text }, 'text/csv': { schema: text }, 'application/vnd.apache.parquet': { schema: text } } } },
  },
  async ({ query, caller, request, reply, signal }) => {
    const visibility = eventVisibility(caller, await ownWorkspaceIds(deps, caller));
    const { format: asked, ...filters } = query;
    const page = parsePageRequest(caller.orgId, visibility, filters);
    const name = `audit-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}`;
    return sendExport(deps.reader.exportStream(caller.orgId, page, asked, signal), asked, name, deps.metrics, request, reply);
  },
);
