import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { createApiKey } from '../../src/identity/api-key.ts';
import { createKeySet } from '../../src/identity/key-set.ts';
import { createIdentity } from '../../src/identity/resolve.ts';
import { generateSigningJwk, importSigningKey, publicKeySet } from '../../src/identity/signing-key.ts';
import { signSessionToken } from '../../src/identity/tokens.ts';
import { buildApp } from '../../src/api/app.ts';
import type { ApiDeps, ApiSettings } from '../../src/api/deps.ts';
import { createApiMetrics } from '../../src/api/metrics.ts';
import { createLogger } from '../../src/api/request-log.ts';
import type { RouteRow } from '../../src/api/route.ts';
import { readSettings } from '../../src/config/settings.ts';

export const orgId = '0197a000-0000-7000-8000-00000000000a';

export type Skeleton = {
  readonly app: FastifyInstance;
  readonly apiKey: string;
  /** Everything logged so far. */
  readonly log: () => string;
  readonly token: (role: string, userId?: string) => Promise<string>;
  readonly setOrgState: (state: string) => void;
};

/** The app around routes of a test: hooks, errors, limits and identity are the real ones, and no store is needed. */
export async function startSkeleton(dir: string, rows: readonly RouteRow[], settings: Partial<ApiSettings> = {}, readiness: ApiDeps['readiness'] = {}): Promise<Skeleton> {
  const jwk = await generateSigningJwk('EdDSA');
  const signingKey = await importSigningKey(jwk);
  await writeFile(join(dir, 'jwks.json'), JSON.stringify(publicKeySet([jwk])));
  const apiKey = createApiKey();
  const org = { id: orgId, name: 'skeleton', state: 'active' };
  const lines: string[] = [];
  const identity = createIdentity({
    sessionKeys: createKeySet({ url: pathToFileURL(join(dir, 'jwks.json')).href }),
    stores: {
      apiKeyByPrefix: async (prefix) => (prefix === apiKey.prefix ? { id: 'key-1', orgId, hash: apiKey.hash, permissionSet: 'full', revokedAt: undefined } : undefined),
      membershipsOf: async () => [],
      orgById: async (id) => (id === orgId ? org : undefined),
    },
  });
  const unused = new Proxy({}, { get: (_target, name) => { throw new Error(`the skeleton has no ${String(name)}`); } });
  const app = await buildApp({
    settings: { ...readSettings({}), ...settings },
    identity,
    readiness,
    reader: unused as ApiDeps['reader'],
    workspaces: unused as ApiDeps['workspaces'],
    hub: unused as ApiDeps['hub'],
    metrics: createApiMetrics(),
    logger: createLogger('trace', new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(chunk.toString());
        done();
      },
    })),
  }, rows);
  return {
    app,
    apiKey: apiKey.key.reveal(),
    log: () => lines.join(''),
    token: (role, userId = 'user_1') => signSessionToken({ userId, orgId, role }, signingKey, { expiresInS: 60 }),
    setOrgState: (state) => {
      org.state = state;
    },
  };
}
