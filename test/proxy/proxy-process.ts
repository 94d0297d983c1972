import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditEvent } from '../../src/events/event.ts';
import { decodeRow } from '../../src/events/line.ts';
import type { StoredRow } from '../../src/events/line.ts';
import { generateSigningJwk, importSigningKey, publicKeySet } from '../../src/identity/signing-key.ts';
import { signCapabilityToken } from '../../src/identity/tokens.ts';
import { openJournal } from '../../src/journal/journal.ts';
import { decompressPayload } from '../../src/queue/payload.ts';
import type { ChildOptions, ChildStarted, ChildStopped } from './proxy-child.ts';
import { orgId, workspaceId } from './proxy-harness.ts';

export type ProxyProcess = ChildStarted & {
  readonly pid: number;
  /** Ends it as a crash does; resolves when it is gone. */
  readonly kill: () => Promise<void>;
  /** Drains it and closes its journal. */
  readonly stop: () => Promise<ChildStopped>;
};

export type ProxyDirectory = {
  readonly token: string;
  /** Starts a proxy on the journal that the last one left. */
  readonly start: () => Promise<ProxyProcess>;
  /** Every row of the journal; no proxy may be running on it. */
  readonly rows: () => Promise<AuditEvent[]>;
};

type Options = Pick<ChildOptions, 'caps'> & Partial<Pick<ChildOptions, 'env' | 'confirms'>>;

/** A directory for proxies that are processes of their own, one after the other; removed with what still runs when the test ends. */
export async function proxyDirectory(t: { teardown(fn: () => Promise<void>): unknown }, { caps, env = {}, confirms = false }: Options): Promise<ProxyDirectory> {
  const dir = await mkdtemp(join(tmpdir(), 'customhouse-proxies-'));
  const jwk = await generateSigningJwk('EdDSA');
  const running = new Set<() => Promise<void>>();
  t.teardown(async () => {
    for (const kill of running) await kill();
    await rm(dir, { recursive: true });
  });
  const options: ChildOptions = { dir, keys: publicKeySet([jwk]), caps, env, confirms };
  return {
    token: await signCapabilityToken({ orgId, workspaceId, taskId: 'task-1' }, await importSigningKey(jwk), { expiresInS: 86_400 }),
    async start() {
      const child = fork(join(import.meta.dirname, 'proxy-child.ts'), { env: { PATH: process.env['PATH'], CHILD_OPTIONS: JSON.stringify(options) }, execArgv: [] });
      const exited = once(child, 'exit');
      const gone = exited.then(([code]) => { throw new Error(`the proxy ended with ${String(code)}`); });
      gone.catch(() => undefined);
      const next = async <T>(): Promise<T> => (await Promise.race([once(child, 'message'), gone]))[0] as T;
      const kill = async (): Promise<void> => {
        running.delete(kill);
        child.kill('SIGKILL');
        await exited;
      };
      running.add(kill);
      const started = await next<ChildStarted>();
      return {
        ...started, pid: child.pid ?? 0, kill,
        async stop() {
          const stopped = next<ChildStopped>();
          child.send('stop');
          const result = await stopped;
          await exited;
          running.delete(kill);
          return result;
        },
      };
    },
    async rows() {
      const journal = await openJournal({ dir: join(dir, 'journal'), producer: 'proxy:test', sealMs: 200, sealRows: 5_000, sealBytes: 8_388_608, diskBytesMax: 2_147_483_648, fsync: 'never' });
      const rows: AuditEvent[] = [];
      for (const { id } of await journal.source.pending(10_000)) {
        const batch = await journal.source.load(id);
        if (batch === undefined) throw new Error(`batch ${id} is gone`);
        for (const line of (await decompressPayload(batch.payload, 1_073_741_824)).toString('utf8').trimEnd().split('\n')) rows.push(decodeRow(JSON.parse(line) as StoredRow));
      }
      await journal.close();
      return rows;
    },
  };
}
