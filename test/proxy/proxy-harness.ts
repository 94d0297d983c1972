import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalJWKSet } from 'jose';
import { readSettings } from '../../src/config/settings.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import { decodeRow } from '../../src/events/line.ts';
import type { StoredRow } from '../../src/events/line.ts';
import { generateSigningJwk, importSigningKey, publicKeySet } from '../../src/identity/signing-key.ts';
import { InvalidTokenError, signCapabilityToken, verifyCapabilityToken } from '../../src/identity/tokens.ts';
import { openJournal } from '../../src/journal/journal.ts';
import type { Journal, JournalOptions } from '../../src/journal/journal.ts';
import type { BudgetStore } from '../../src/budgets/contract.ts';
import { createMemoryBudgetStore } from '../../src/budgets/memory-store.ts';
import type { CompiledPolicy } from '../../src/policy/compiled-policy.ts';
import { readPolicyText } from '../../src/policy/read-policy.ts';
import type { ActiveWorkspace } from '../../src/proxy/contract.ts';
import { createSyntheticAddresses } from '../../src/proxy/dns/synthetic-addresses.ts';
import type { SyntheticAddresses } from '../../src/proxy/dns/synthetic-addresses.ts';
import type { ProxyParts, ProxySettings } from '../../src/proxy/start.ts';
import { openAuthority } from '../../src/proxy/tls/authority.ts';
import type { UpstreamSend } from '../../src/proxy/upstream-port.ts';
import { createUpstream } from '../../src/proxy/upstream/upstream.ts';
import type { VerifyCapability } from '../../src/proxy/identify.ts';
import { startProxy } from '../../src/proxy/start.ts';
import type { Proxy } from '../../src/proxy/start.ts';
import { decompressPayload } from '../../src/queue/payload.ts';

export const orgId = '0192aaaa-0000-7000-8000-000000000001';
export const workspaceId = '0192aaaa-0000-7000-8000-000000000002';

export type Harness = {
  readonly proxy: Proxy;
  readonly journal: Journal;
  readonly port: number;
  /** Certificate of the CA, PEM. */
  readonly ca: string;
  readonly token: (claims?: { taskId?: string; userId?: string }, expiresInS?: number) => Promise<string>;
  /** Errors the proxy logged. */
  readonly logged: unknown[];
  /** Every row the journal holds, in the API's form. */
  rows(): Promise<AuditEvent[]>;
};

export type HarnessOptions = {
  env?: Record<string, string>;
  journal?: Partial<JournalOptions>;
  verify?: VerifyCapability;
  /** Text of the workspace's policy; none attached without it. */
  caps?: string;
  workspace?: Partial<ActiveWorkspace>;
  /** The registry's answer; the workspace above without it. */
  activate?: () => Promise<ActiveWorkspace | undefined>;
  send?: UpstreamSend;
  /** Addresses of every name; 127.0.0.1 without it. */
  lookup?: () => Promise<{ address: string }[]>;
  mint?: ProxyParts['mint'];
  budgets?: BudgetStore;
  /** Over those of `env`: a port 0 there is off, here one that is free. */
  settings?: Partial<ProxySettings>;
  addresses?: SyntheticAddresses;
};

export function policyOf(text: string): CompiledPolicy {
  const { policy, problems } = readPolicyText(text);
  if (policy === undefined) throw new Error(JSON.stringify(problems));
  return policy;
}

export function workspaceOf(given: Partial<ActiveWorkspace> = {}): ActiveWorkspace {
  return {
    id: workspaceId, orgId, createdBy: 'user-1', agentRole: 'crawler', agentProvider: 'acme', environment: 'test', enforcement: 'enforce', retentionDays: 30,
    policy: undefined, secrets: new Map(), eventSchemas: new Map(), gone: new AbortController().signal, ...given,
  };
}

export async function startHarness(t: { teardown(fn: () => Promise<void>): unknown }, options: HarnessOptions = {}): Promise<Harness> {
  const dir = await mkdtemp(join(tmpdir(), 'customhouse-proxy-'));
  const journal = await openJournal({ dir, producer: 'proxy:test', sealMs: 200, sealRows: 10_000, sealBytes: 8_388_608, diskBytesMax: 1_073_741_824, fsync: 'never', ...options.journal });
  const jwk = await generateSigningJwk('EdDSA');
  const key = await importSigningKey(jwk);
  const keys = createLocalJWKSet(publicKeySet([jwk]));
  const logged: unknown[] = [];
  const log = { warn: (fields: object) => void logged.push(fields), error: (fields: object) => void logged.push(fields) };
  const verify: VerifyCapability = async (token) => {
    try {
      return await verifyCapabilityToken(token, { keys: (header, input) => keys(header, input) });
    } catch (error) {
      if (error instanceof InvalidTokenError) return undefined;
      throw error;
    }
  };
  const settings = readSettings({ CUSTOMHOUSE_ENV: 'test', PROXY_PORT: '0', PROXY_ADMIN_PORT: '0', PROXY_ALLOW_PRIVATE_UPSTREAMS: '127.0.0.0/8', ...options.env });
  const addresses = options.addresses ?? createSyntheticAddresses();
  const workspace = workspaceOf({ ...(options.caps === undefined ? {} : { policy: policyOf(options.caps) }), ...options.workspace });
  const authority = await openAuthority({ certPath: join(dir, 'ca.pem'), keyPath: join(dir, 'ca-key.pem'), leavesMax: 100, nowMs: Date.now });
  const upstream = createUpstream(settings, { listeners: () => [], isSynthetic: (address) => addresses.owns(address), lookup: options.lookup ?? (async () => [{ address: '127.0.0.1' }]) });
  const proxy = await startProxy({ ...settings, ...options.settings }, {
    journal, log, authority, addresses,
    verify: options.verify ?? verify,
    workspaces: { get: options.activate ?? (async () => workspace) },
    budgets: options.budgets ?? createMemoryBudgetStore({ nowMs: Date.now, holdTtlMs: 60_000 }),
    send: options.send ?? upstream.send,
    mint: options.mint ?? (async () => undefined),
  });
  t.teardown(async () => {
    await proxy.stop(100);
    upstream.stop();
    await journal.close();
    await rm(dir, { recursive: true });
  });
  return {
    proxy,
    journal,
    ca: authority.certificatePem,
    port: Number(new URL(proxy.url).port),
    token: ({ taskId, userId } = {}, expiresInS = 600) =>
      signCapabilityToken({ orgId, workspaceId, ...(taskId === undefined ? {} : { taskId }), ...(userId === undefined ? {} : { userId }) }, key, { expiresInS }),
    logged,
    async rows() {
      // Asking again and again must not keep the proxy in this process from its work.
      await sleep(2);
      await journal.seal();
      const rows: AuditEvent[] = [];
      for (const { id } of await journal.source.pending(10_000)) {
        const batch = await journal.source.load(id);
        if (batch === undefined) throw new Error(`batch ${id} is gone`);
        const text = (await decompressPayload(batch.payload, 1_073_741_824)).toString('utf8');
        for (const line of text.trimEnd().split('\n')) rows.push(decodeRow(JSON.parse(line) as StoredRow));
      }
      return rows;
    },
  };
}

/** A raw connection: what was sent and received is bytes, nothing is parsed on the way. */
export class RawClient {
  readonly socket: Socket;
  received = '';
  readonly closed: Promise<string>;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => { this.received += text; });
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.once('end', () => this.socket.end());
      this.socket.once('close', () => resolve(this.received));
    });
  }

  send(text: string): this {
    this.socket.write(text, 'latin1');
    return this;
  }

  /** Resolves when `pattern` was received; rejects when the connection ends without it. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.received);
      if (match !== null) return match;
      if (this.socket.readableEnded || this.socket.destroyed) throw new Error(`connection ended; received ${JSON.stringify(this.received)}`);
      await new Promise<void>((resolve) => {
        this.socket.once('data', () => resolve());
        this.socket.once('close', () => resolve());
        this.socket.once('end', () => resolve());
      });
    }
  }
}

/** Sends `text`, waits for the connection to end, and answers everything received. */
export function exchange(port: number, text: string): Promise<string> {
  return new RawClient(port).send(text).closed;
}
