import { join } from 'node:path';
import { createLocalJWKSet } from 'jose';
import type { JSONWebKeySet } from 'jose';
import { createMemoryBudgetStore } from '../../src/budgets/memory-store.ts';
import { readSettings } from '../../src/config/settings.ts';
import { InvalidTokenError, verifyCapabilityToken } from '../../src/identity/tokens.ts';
import { openJournal } from '../../src/journal/journal.ts';
import { createSyntheticAddresses } from '../../src/proxy/dns/synthetic-addresses.ts';
import { startProxy } from '../../src/proxy/start.ts';
import { openAuthority } from '../../src/proxy/tls/authority.ts';
import { createUpstream } from '../../src/proxy/upstream/upstream.ts';
import { policyOf, workspaceOf } from './proxy-harness.ts';

/** What the parent gives in CHILD_OPTIONS. With `confirms` sealed batches are counted and dropped, as if they were stored. */
export type ChildOptions = { readonly dir: string; readonly keys: JSONWebKeySet; readonly caps: string; readonly env: Readonly<Record<string, string>>; readonly confirms: boolean };
/** The first message to the parent; the second comes after `stop`, when the journal is closed. */
export type ChildStarted = { readonly port: number; readonly adminUrl: string; readonly ca: string };
export type ChildStopped = { readonly logged: readonly string[]; readonly confirmedRows: number };

const { dir, keys, caps, env, confirms } = JSON.parse(process.env['CHILD_OPTIONS'] ?? '') as ChildOptions;
const loggedMax = 100;
const logged: string[] = [];
const log = { error: (fields: object, text?: string) => void (logged.length < loggedMax && logged.push(`${text ?? ''} ${String((fields as { err?: unknown }).err)}`)) };

const journal = await openJournal({ dir: join(dir, 'journal'), producer: 'proxy:test', sealMs: 200, sealRows: 5_000, sealBytes: 8_388_608, diskBytesMax: 1_073_741_824, fsync: 'never', onError: (err) => log.error({ err }) });
let confirmedRows = 0;
const confirming = new Set<Promise<void>>();
if (confirms) {
  journal.onSealed(({ id, rows }) => {
    confirmedRows += rows;
    const done = journal.source.confirm(id).then(() => void confirming.delete(done));
    confirming.add(done);
  });
}

const settings = readSettings({ CUSTOMHOUSE_ENV: 'test', PROXY_PORT: '0', PROXY_ADMIN_PORT: '0', PROXY_ALLOW_PRIVATE_UPSTREAMS: '127.0.0.0/8', ...env });
const addresses = createSyntheticAddresses();
const workspace = workspaceOf({ policy: policyOf(caps), secrets: new Map([['key', 'a-secret-of-the-workspace']]) });
const keySet = createLocalJWKSet(keys);
const authority = await openAuthority({ certPath: join(dir, 'ca.pem'), keyPath: join(dir, 'ca-key.pem'), leavesMax: 100, nowMs: Date.now });
const upstream = createUpstream(settings, { listeners: () => [], isSynthetic: (address) => addresses.owns(address), lookup: async () => [{ address: '127.0.0.1' }] });
const proxy = await startProxy(settings, {
  journal, log, authority, addresses,
  async verify(token) {
    try {
      return await verifyCapabilityToken(token, { keys: (header, input) => keySet(header, input) });
    } catch (error) {
      if (error instanceof InvalidTokenError) return undefined;
      throw error;
    }
  },
  workspaces: { get: async () => workspace },
  budgets: createMemoryBudgetStore({ nowMs: Date.now, holdTtlMs: 60_000 }),
  send: upstream.send,
  mint: async () => undefined,
});

async function stop(): Promise<void> {
  await proxy.stop(2_000);
  upstream.stop();
  await journal.close();
  await Promise.all(confirming);
  process.send?.({ logged, confirmedRows } satisfies ChildStopped, () => process.disconnect());
}

process.once('message', () => void stop());
process.send?.({ port: Number(new URL(proxy.url).port), adminUrl: proxy.adminUrl, ca: authority.certificatePem } satisfies ChildStarted);
