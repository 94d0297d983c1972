import t from 'tap';
import { compileSchema } from '../../src/policy/schema/compile-schema.ts';
import { exchange, startHarness, workspaceId } from './proxy-harness.ts';

function schema(source: unknown) {
  const compiled = compileSchema(source);
  if ('problems' in compiled) throw new Error(JSON.stringify(compiled.problems));
  return compiled.schema;
}

t.test('an agent event becomes its own row, with the raw body as detail', async (t) => {
  const harness = await startHarness(t, { workspace: { eventSchemas: new Map([['tool_call', schema({ required: ['tool'] })]]) } });
  const token = await harness.token({ taskId: 'task-1' });
  const post = (path: string, body: string, auth = token): Promise<string> => exchange(harness.port, `POST ${path} HTTP/1.1\r\nHost: customhouse.internal\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nx-capability-token: ${auth}\r\n\r\n${body}`);
  const answer = await post('http://customhouse.internal/task/task-1/event', '{"type": "tool_call", "tool": "grep", "n": 1}');
  t.match(answer, /^HTTP\/1\.1 202 [^]*"id":"[0-9a-f-]{36}"/);
  t.match(await post('/task/task-1/event', '{"type": "session_start"}'), / 202 /);
  const rows = await harness.rows();
  t.match(rows.slice(0, 2), [
    { event_type: 'tool_call', category: 'activity', actor: 'agent', workspace_id: workspaceId, task_id: 'task-1', agent_role: 'crawler', detail: { type: 'tool_call', tool: 'grep', n: 1 } },
    { event_type: 'policy_decision', decision: 'allow', task_id: 'task-1', debits: { requests: 1 }, detail: { served: 'agent_event', event_id: rows[0]?.id } },
  ]);
  t.equal(rows.length, 4);

  for (const [path, body, status, reason, auth] of [
    ['/task/task-1/event', '{"type": "tool_call"}', 400, 'schema_violation'],
    ['/task/task-1/event', '{"type": "policy_decision"}', 400, 'schema_violation'],
    ['/task/task-1/event', '{"type": ["tool_call"]}', 400, 'schema_violation'],
    ['/task/task-1/event', '{"type": "x", "type": "tool_call", "tool": 1}', 400, 'invalid_json'],
    ['/task/task-1/event', '[]', 400, 'invalid_json'],
    ['/task/task-2/event', '{"type": "session_start"}', 403, 'no_match'],
    ['/task/task-1/event', `{"type": "session_start", "x": "${'x'.repeat(300_000)}"}`, 413, 'format_mismatch'],
    ['/task/task-1/event', '{"type": "session_start"}', 403, 'invalid_token', 'bad'],
  ] as [string, string, number, string, string?][]) t.match(await post(path, body, auth), new RegExp(`^HTTP/1\\.1 ${status} [^]*"code":"${reason}"`), `${path} ${body.slice(0, 40)}`);
  t.equal((await harness.rows()).filter(({ event_type: type }) => type !== 'policy_decision').length, 2);
  t.equal((await harness.rows()).length, 12);
});
