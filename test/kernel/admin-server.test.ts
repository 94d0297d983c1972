import { Counter, Registry } from 'prom-client';
import t from 'tap';
import { startAdminServer } from '../../src/kernel/admin-server.ts';

t.test('admin server', async (t) => {
  const registry = new Registry();
  new Counter({ name: 'seen_total', help: 'h', registers: [registry] }).inc(3);
  const state = { a: undefined as string | undefined, fails: false };
  const admin = await startAdminServer({
    host: '127.0.0.1', port: 0, registry,
    checks: { a: () => state.a, b: async () => { if (state.fails) throw new Error('connect ECONNREFUSED 10.1.2.3:5432'); return undefined; } },
  });
  t.teardown(() => admin.close());
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(admin.url + path, { method });
    return { status: response.status, text: await response.text() };
  };

  t.match(await get('/healthz'), { status: 200, text: '{"status":"ok"}' });
  t.match(await get('/readyz?x=1'), { status: 200, text: '{"status":"ready"}' });
  state.a = 'no room';
  state.fails = true;
  t.match(await get('/readyz'), { status: 503, text: '{"status":"not ready","down":{"a":"no room","b":"does not answer"}}' }, 'names what is down, and no address');
  t.match(await get('/healthz'), { status: 200 }, 'the process itself is well');
  const metrics = await get('/metrics');
  t.match(metrics.text, /seen_total 3/);
  t.equal((await get('/nothing')).status, 404);
  t.equal((await get('/healthz', 'POST')).status, 405);
  await t.rejects(startAdminServer({ host: '127.0.0.1', port: Number(new URL(admin.url).port), registry, checks: {} }), { code: 'EADDRINUSE' });
});
