import type { FastifyInstance } from 'fastify';
import { AppError } from '../../kernel/errors.ts';
import type { InternalDeps } from './contract.ts';
import { opened, orgOf } from './workspace-route.ts';

/**
 * `GET /internal/credentials/{name}?org_id=`: an org's credential with its durable secret, for the mint broker of a proxy. `material` is
 * null while an authorization-code flow has not been completed. 404 for one that is unknown or of another org.
 */
export function registerCredentialRoute(app: FastifyInstance, { credentials }: InternalDeps): void {
  app.get('/internal/credentials/:name', async (request) => {
    const { name } = request.params as { name: string };
    const orgId = orgOf(request.query);
    // Postgres has no texts with NUL.
    const credential = orgId === undefined || name.includes('\0') ? undefined : await opened(() => credentials.openCredential(orgId, name));
    if (orgId === undefined || credential === undefined) throw new AppError('not_found', 'there is no such credential');
    return {
      id: credential.id,
      org_id: orgId,
      name: credential.name,
      provider: credential.provider,
      kind: credential.kind,
      scopes: credential.scopes,
      provider_config: credential.providerConfig,
      status: credential.status,
      material: credential.material?.reveal() ?? null,
    };
  });
}
