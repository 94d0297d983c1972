import type { FastifyInstance } from 'fastify';
import { AppError } from '../../kernel/errors.ts';
import { isUuid } from '../../kernel/ids.ts';
import { SealingError } from '../../identity/sealing.ts';
import type { InternalDeps } from './contract.ts';

/** The one `org_id` of a query; undefined for none, several, or what is no id. */
export function orgOf(query: unknown): string | undefined {
  const { org_id: orgId } = query as { org_id?: unknown };
  return typeof orgId === 'string' && isUuid(orgId) ? orgId : undefined;
}

/**
 * A sealed value that does not open is a fault of this process's keys. It is never answered as "there is no secret": a proxy keeps what
 * it holds while this fails, and would otherwise send requests without their credentials.
 */
export async function opened<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof SealingError) throw new AppError('auth_disabled', 'a sealed value cannot be opened', { sealing: error.code }, { cause: error });
    throw error;
  }
}

/**
 * `GET /internal/workspaces/{id}?org_id=`: everything a proxy needs to decide the requests of a running workspace, secrets included.
 * `ETag` is the version; with `If-None-Match` it answers 304 and opens nothing. 404 `workspace_not_found` for one that is unknown, of
 * another org, stopped or archived.
 */
export function registerWorkspaceRoute(app: FastifyInstance, { policies, secrets, retentionDays }: InternalDeps): void {
  app.get('/internal/workspaces/:id', async (request, reply) => {
    const { id } = request.params as { id: string };
    const orgId = orgOf(request.query);
    const workspace = orgId === undefined ? undefined : await policies.runningWorkspace(orgId, id);
    if (orgId === undefined || workspace === undefined) throw new AppError('workspace_not_found', 'there is no such running workspace');
    const days = workspace.retentionDays ?? retentionDays;
    // The days may come from this process's settings, which the stored version knows nothing of.
    const version = `${workspace.version}.${days}`;
    const etag = `"${version}"`;
    reply.header('etag', etag);
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    const values = await opened(() => secrets.openSecrets(orgId, workspace.secretKeys));
    return {
      id: workspace.id,
      org_id: workspace.orgId,
      created_by: workspace.createdBy,
      agent_role_id: workspace.agentRoleId,
      agent_role: workspace.agentRole,
      agent_provider: workspace.agentProvider,
      environment: workspace.environment,
      enforcement: workspace.enforcement,
      retention_days: days,
      state: 'running',
      caps: workspace.caps ?? null,
      // fromEntries defines own properties: a name such as `__proto__` cannot pass the identifier rule, and would be harmless.
      secrets: Object.fromEntries([...values].map(([name, value]) => [name, value.reveal()])),
      event_schemas: workspace.eventSchemas,
      version,
    };
  });
}
