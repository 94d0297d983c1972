import type { FastifyReply } from 'fastify';
import type { PageRequest } from '../query/page-request.ts';
import type { ApiDeps } from './deps.ts';

/** Reads one page and sends it. */
export async function sendPage(deps: Pick<ApiDeps, 'reader'>, reply: FastifyReply, orgId: string, request: PageRequest, signal: AbortSignal): Promise<FastifyReply> {
  const { events, cursor } = await deps.reader.page(orgId, request, signal);
  return reply.type('application/json; charset=utf-8').send(JSON.stringify({ events, ...(cursor === undefined ? {} : { cursor }) }));
}
