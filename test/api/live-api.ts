import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../../src/api/app.ts';
import type { ApiDeps } from '../../src/api/deps.ts';
import { createLogger } from '../../src/api/request-log.ts';
import { routeTable } from '../../src/api/routes/table.ts';
import { assembleApi } from '../../src/api/start.ts';
import { migrate } from '../../src/cli/migrate.ts';
import { readSettings } from '../../src/config/settings.ts';
import type { Settings } from '../../src/config/settings.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import { batchSuffix, encodeLine, stampLine } from '../../src/events/line.ts';
import { createApiKey } from '../../src/identity/api-key.ts';
import { generateSigningJwk, importSigningKey, publicKeySet } from '../../src/identity/signing-key.ts';
import { signSessionToken } from '../../src/identity/tokens.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';
import { connectClickHouse } from '../../src/store/ch/connection.ts';
import { createAuditWriter } from '../../src/store/ch/writer.ts';
import { createLockSession } from '../../src/store/pg/advisory-lock.ts';
import { createAgentRoleStore } from '../../src/store/pg/agent-roles.ts';
import { createApiKeyStore } from '../../src/store/pg/api-keys.ts';
import { connectPostgres } from '../../src/store/pg/connect.ts';
import { createOrgStore } from '../../src/store/pg/orgs.ts';
import { createOutbox } from '../../src/store/pg/outbox.ts';
import { createProviderStore } from '../../src/store/pg/providers.ts';
import { createWorkspaceStore } from '../../src/store/pg/workspaces.ts';
import { createStreamPublisher } from '../../src/stream/publisher.ts';
import { sliceByOrg, splitLines } from '../../workers/batch-lines.ts';
import { createCommitter } from '../../workers/commit.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, Teardown } from '../support/stack.ts';

export type Tenant = {
  readonly orgId: string;
  readonly keys: { readonly full: string; readonly audit: string; readonly revoked: string };
  readonly keyIds: { readonly full: string };
  /** Workspaces created by `alice` and by `bob`. */
  readonly aliceWorkspace: string;
  readonly bobWorkspace: string;
  readonly token: (userId: string, role: string, scope?: string) => Promise<string>;
};

export type LiveApi = {
  readonly stack: Stack;
  readonly settings: Settings;
  readonly deps: ApiDeps;
  readonly app: FastifyInstance;
  readonly url: string;
  readonly a: Tenant;
  readonly b: Tenant;
  readonly log: () => string;
  /** Stores the rows as one batch and commits it, as the worker does. */
  readonly commitRows: (events: readonly AuditEvent[]) => Promise<void>;
  readonly makeWorkspace: (tenant: Tenant, userId: string) => Promise<string>;
};

/** The api over real stores, with two tenants; everything is stopped when the test ends. `wrap` may change what the routes are given. */
export async function startLiveApi(t: Teardown, env: Record<string, string> = {}, wrap: (deps: ApiDeps) => ApiDeps = (deps) => deps): Promise<LiveApi> {
  const stack = await startStack(t, { postgres: true, redis: true, clickhouse: true });
  const jwk = await generateSigningJwk('EdDSA');
  const signingKey = await importSigningKey(jwk);
  const jwksFile = join(stack.dir, 'jwks.json');
  await writeFile(jwksFile, JSON.stringify(publicKeySet([jwk])));
  const settings = readSettings({
    CUSTOMHOUSE_ENV: 'test', POSTGRES_URL: stack.postgresUrl, REDIS_URL: stack.redisUrl, CLICKHOUSE_URL: stack.clickhouseUrl,
    SESSION_JWKS_URL: pathToFileURL(jwksFile).href, API_PORT: '0', RATE_LIMIT_PER_MINUTE: '1000000', LOG_LEVEL: 'debug', ...env,
  });
  await migrate(settings, { dryRun: false });

  const sql = connectPostgres({ url: settings.postgresUrl, poolMax: 4, applicationName: 'test' });
  const clickhouse = connectClickHouse({ url: settings.clickhouseUrl, user: settings.clickhouseUser, password: settings.clickhousePassword, database: settings.clickhouseDatabase });
  const outbox = createOutbox({ mode: 'refuse', retentionDays: 30 });
  const session = createLockSession({ url: settings.postgresUrl, applicationName: 'test' }, 'commit');
  const publisher = createStreamPublisher({ redisUrl: settings.redisUrl, onError: () => undefined });
  const committer = createCommitter({ session, publisher });
  const writer = createAuditWriter(clickhouse, { timeoutMs: 20_000 });
  const apiKeys = createApiKeyStore({ sql, outbox });

  async function makeWorkspace(orgId: string, userId: string, agentRoleId: string): Promise<string> {
    return (await createWorkspaceStore({ sql, outbox }).create({ orgId, userId, agentRoleId })).id;
  }
  const roleIds = new Map<string, string>();
  async function makeTenant(name: string): Promise<Tenant> {
    const { id: orgId } = await createOrgStore(sql).create({ name });
    const by = { orgId, userId: 'alice' };
    const provider = await createProviderStore({ sql, outbox }).create({ ...by, name: 'acme', displayName: 'Acme', kind: 'llm', domain: 'acme.example' });
    const role = await createAgentRoleStore({ sql, outbox }).create({ ...by, name: 'researcher', displayName: 'Researcher', providerId: provider.id, model: 'm' });
    roleIds.set(orgId, role.id);
    const makeKey = async (permissionSet: string): Promise<{ key: string; id: string }> => {
      const { key, prefix, hash } = createApiKey();
      const { id } = await apiKeys.create({ ...by, label: permissionSet, prefix, hash, permissionSet });
      return { key: key.reveal(), id };
    };
    const [full, audit, revoked] = [await makeKey('full'), await makeKey('audit'), await makeKey('full')];
    await apiKeys.revoke({ ...by, id: revoked.id });
    return {
      orgId,
      keys: { full: full.key, audit: audit.key, revoked: revoked.key },
      keyIds: { full: full.id },
      aliceWorkspace: await makeWorkspace(orgId, 'alice', role.id),
      bobWorkspace: await makeWorkspace(orgId, 'bob', role.id),
      token: (userId, memberRole, scope) => signSessionToken({ userId, orgId, role: memberRole, ...(scope === undefined ? {} : { scope }) }, signingKey, { expiresInS: 3600 }),
    };
  }
  const [a, b] = [await makeTenant('a'), await makeTenant('b')];

  let batchNo = 0;
  async function commitRows(events: readonly AuditEvent[]): Promise<void> {
    const id = uuidv7();
    batchNo += 1;
    const suffix = batchSuffix({ ingestedAtMs: Date.now(), producer: 'test', batchId: id, batchNo, batchRows: events.length });
    const ndjson = Buffer.from(events.map((event) => `${stampLine(encodeLine(event, 30), suffix)}\n`).join(''));
    await writer.insertBatch({ token: id, ndjson });
    const times = events.map((event) => event.timestamp).sort();
    const batch = { id, producer: 'test', batchNo, rows: events.length, minTimestamp: times[0] ?? '', maxTimestamp: times.at(-1) ?? '' };
    await committer.commit(batch, sliceByOrg(splitLines(ndjson), new Set(), 32_768));
  }

  const lines: string[] = [];
  const logger = createLogger(settings.logLevel, new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  }));
  const deps = wrap(assembleApi(settings, { sql, clickhouse }, logger));
  const app = await buildApp(deps, routeTable);
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(async () => {
    const closed = app.close();
    await deps.hub.stop();
    // A client's pool may connect once more, without a request, until the listener is closed.
    const cutting = setInterval(() => app.server.closeAllConnections(), 50);
    await closed;
    clearInterval(cutting);
    await publisher.close();
    await session.close();
    await clickhouse.close();
    await sql.end({ timeout: 1 });
  });
  const { port } = app.server.address() as AddressInfo;
  return {
    stack, settings, deps, app, a, b, commitRows,
    url: `http://127.0.0.1:${port}`,
    log: () => lines.join(''),
    makeWorkspace: (tenant, userId) => makeWorkspace(tenant.orgId, userId, roleIds.get(tenant.orgId) ?? ''),
  };
}
