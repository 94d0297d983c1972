import { join } from 'node:path';
import { createLocalJWKSet } from 'jose';
import { readSettings } from '../../src/config/settings.ts';
import { createMemoryBudgetStore } from '../../src/budgets/memory-store.ts';
import { createRedisBudgetStore } from '../../src/budgets/redis-store.ts';
import { openJournal } from '../../src/journal/journal.ts';
import { generateSigningJwk, importSigningKey, publicKeySet } from '../../src/identity/signing-key.ts';
import { signCapabilityToken, verifyCapabilityToken } from '../../src/identity/tokens.ts';
import { readPolicyText } from '../../src/policy/read-policy.ts';
import type { ActiveWorkspace } from '../../src/proxy/contract.ts';
import { createSyntheticAddresses } from '../../src/proxy/dns/synthetic-addresses.ts';
import { startProxy } from '../../src/proxy/start.ts';
import { openAuthority } from '../../src/proxy/tls/authority.ts';
import { createUpstream } from '../../src/proxy/upstream/upstream.ts';
import { serveParent } from './child.ts';
import type { ProxyFiles } from './job.ts';
import { policyText } from './scenarios.ts';

/** The proxy as its role composes it, with one workspace that is always active, and a journal whose batches count as stored once sealed. */
const { dir, ports, certPath, keyPath, upstreamCa, redisUrl } = JSON.parse(process.argv[2] ?? '') as ProxyFiles;
const orgId = '0192aaaa-0000-7000-8000-000000000001';
const workspaceId = '0192aaaa-0000-7000-8000-000000000002';

const settings = readSettings({ CUSTOMHOUSE_ENV: 'test', PROXY_PORT: '0', PROXY_ADMIN_PORT: '0', PROXY_ALLOW_PRIVATE_UPSTREAMS: '127.0.0.0/8', PROXY_UPSTREAM_CA: upstreamCa, JOURNAL_DIR: join(dir, 'journal') });
const { policy, problems } = readPolicyText(policyText(ports));
if (policy === undefined) throw new Error(JSON.stringify(problems));
const workspace: ActiveWorkspace = {
  id: workspaceId, orgId, createdBy: 'user-1', agentRole: 'crawler', agentProvider: 'acme', environment: 'test', enforcement: 'enforce', retentionDays: 30,
  policy, secrets: new Map(), eventSchemas: new Map(), gone: new AbortController().signal,
};

function report(error: unknown): void {
  console.error('our proxy:', error);
}

const journal = await openJournal({
  dir: settings.journalDir, producer: 'proxy:bench', sealMs: settings.journalSealMs, sealRows: settings.journalSealRows, sealBytes: settings.journalSealBytes,
  diskBytesMax: settings.journalDiskBytesMax, fsync: settings.journalFsync, onError: report,
});
journal.onSealed(({ id }) => void journal.source.confirm(id).catch(report));
const jwk = await generateSigningJwk('EdDSA');
const keys = createLocalJWKSet(publicKeySet([jwk]));
const token = await signCapabilityToken({ orgId, workspaceId, taskId: 'task-1' }, await importSigningKey(jwk), { expiresInS: 3600 });
const budgets = redisUrl === undefined
  ? createMemoryBudgetStore({ nowMs: Date.now, holdTtlMs: 60_000 })
  : createRedisBudgetStore({ redisUrl, holdTtlMs: 60_000, commandTimeoutMs: 2_000, onError: report });
const addresses = createSyntheticAddresses();
const upstream = createUpstream(settings, { isSynthetic: (address) => addresses.owns(address), lookup: async () => [{ address: '127.0.0.1' }] });
const proxy = await startProxy(settings, {
  journal, budgets, addresses,
  log: { error: report },
  authority: await openAuthority({ certPath, keyPath, leavesMax: 100, nowMs: Date.now }),
  verify: (text) => verifyCapabilityToken(text, { keys: (header, input) => keys(header, input) }),
  workspaces: { get: async () => workspace },
  send: upstream.send,
  mint: async () => undefined,
});
serveParent({ port: Number(new URL(proxy.url).port), token }, async () => {
  await proxy.stop(100);
  upstream.stop();
  await budgets.close();
  await journal.close();
});
