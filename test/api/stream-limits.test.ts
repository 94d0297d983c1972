import { connect } from 'node:net';
import t from 'tap';
import { sampleEvent } from '../support/sample-events.ts';
import { openEventStream } from './event-stream.ts';
import { startLiveApi } from './live-api.ts';

t.test('a stream ends by itself, with a reason, and the number of streams is bounded', async (t) => {
  const { url, a, deps } = await startLiveApi(t, { STREAM_DURATION_MS: '700', STREAM_CLIENTS_MAX: '2' });
  const [first, second] = [await openEventStream(url, '/v1/audit/stream', { credential: a.keys.full }), await openEventStream(url, '/v1/audit/stream', { credential: a.keys.full })];
  const third = await openEventStream(url, '/v1/audit/stream', { credential: a.keys.full });
  t.equal(third.status, 429);
  t.match(third.body, { error: { code: 'rate_limited' } });
  t.ok(third.headers.get('retry-after'));
  for (const client of [first, second]) {
    await client.commented('closing: duration');
    await client.ended;
  }
  t.equal(deps.hub.stats().clients, 0, 'nothing is left of them');
  const again = await openEventStream(url, '/v1/audit/stream', { credential: a.keys.full });
  t.equal(again.status, 200, 'their places are free again');
  again.close();
});

t.test('a client that does not read is held at the bound, and loses nothing when it reads on', async (t) => {
  const { url, a, commitRows } = await startLiveApi(t, { STREAM_BUFFER_BYTES_MAX: '65536' });
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.write(`GET /v1/audit/stream HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${a.keys.full}\r\n\r\n`);
  await new Promise((resolve) => socket.once('readable', resolve));
  const expected: string[] = [];
  for (let batch = 0; batch < 8; batch += 1) {
    // Some 16 MB in all: far more than the socket's own buffers take.
    const rows = Array.from({ length: 40 }, (_, index) => sampleEvent('tool_call', { org_id: a.orgId, workspace_id: a.aliceWorkspace, source_seq: batch * 40 + index, detail: { text: 'x'.repeat(50_000) } }));
    await commitRows(rows);
    expected.push(...rows.map((row) => row.id));
  }
  let text = '';
  const got = await new Promise<string[]>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1').replaceAll(/x{100,}/g, '');
      const found = [...text.matchAll(/\nid: ([0-9a-f-]{36})\n/g)].map((match) => match[1] ?? '');
      if (found.length >= expected.length) resolve(found);
    });
  });
  t.same(got, expected);
});
