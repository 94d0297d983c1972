import fc from 'fast-check';
import t from 'tap';
import { mergeBody } from '../../src/transforms/body.ts';
import { json, run } from './run.ts';

const merge = (value: string): string => `body: {action: merge, value: '${value}'}`;
const textOf = ({ request }: Awaited<ReturnType<typeof run>>): string => (request.body.kind === 'buffered' ? request.body.text : request.body.kind);

t.test('merge: map by map, lists and the rest replaced', async (t) => {
  const outcome = await run([merge('{"a": {"y": 2}, "list": [3], "new": workspace.id, "text": {"now": "a map"}}')], { body: json({ a: { x: 1, y: 1 }, list: [1, 2], text: 'x' }) });
  t.strictSame(JSON.parse(textOf(outcome)), { a: { x: 1, y: 2 }, list: [3], new: 'w1', text: { now: 'a map' } });
});

t.test('numbers that a double cannot hold, and keys that name prototypes, go through as they came', async (t) => {
  const text = '{"big": 12345678901234567890, "exact": 1.10, "__proto__": {"x": 1}, "constructor": 2}';
  const outcome = await run([merge('{"a": 1}')], { body: json(text), rule: '{name: one, domains: [api.example.com], methods: [POST], request_format: application/json}' });
  t.equal(textOf(outcome), '{"big":12345678901234567890,"exact":1.10,"__proto__":{"x":1},"constructor":2,"a":1}');
  t.equal(({} as { x?: number }).x, undefined);
});

t.test('merge: equal to a plain deep merge, for any bodies', async (t) => {
  const tree = fc.letrec((tie) => ({
    map: fc.dictionary(fc.string({ maxLength: 4 }).filter((key) => key !== '__proto__'), tie('value'), { maxKeys: 4 }),
    value: fc.oneof({ depthSize: 'small' }, fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer(), { maxLength: 3 }), tie('map')),
  })).map;
  const isMap = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
  const plain = (into: Record<string, unknown>, from: Record<string, unknown>): Record<string, unknown> => {
    const made = { ...into };
    for (const [key, value] of Object.entries(from)) {
      const known = Object.hasOwn(made, key) ? made[key] : undefined;
      made[key] = isMap(value) && isMap(known) ? plain(known, value) : value;
    }
    return made;
  };
  fc.assert(fc.property(tree, tree, (body, value) => {
    const change = mergeBody(JSON.stringify(body), value);
    t.strictSame('text' in change ? JSON.parse(change.text) : change, JSON.parse(JSON.stringify(plain(body, value))));
  }), { numRuns: 300 });
});

t.test('prefix: before a string field, anything else is a mismatch', async (t) => {
  const prefix = `body: {action: prefix, key: user, value: '"org-"'}`;
  t.equal(textOf(await run([prefix], { body: json({ user: 'ann' }) })), '{"user":"org-ann"}');
  for (const body of [{ user: 1 }, {}, { user: null }]) t.equal((await run([prefix], { body: json(body) })).failed.get('transform[0]'), 'type_mismatch', JSON.stringify(body));
});

t.test('no body, a streamed one, one that is no object, one that grows too big', async (t) => {
  const failure = async (value: string, body: unknown): Promise<string | undefined> => (await run([merge(value)], body === undefined ? {} : { body: json(body) })).failed.get('transform[0]');
  t.equal(await failure('{"a": 1}', undefined), 'body_absent');
  t.equal((await run([merge('{"a": 1}')], { body: { kind: 'stream' } })).failed.get('transform[0]'), 'apply_error');
  t.equal(await failure('{"a": 1}', [1]), 'apply_error');
  t.equal(await failure(`{"a": "${'x'.repeat(900)}" + "${'y'.repeat(900)}" + "${'z'.repeat(300)}"}`, {}), 'apply_error');
});

t.test('auth: what the agent sent there goes, whatever the mint gives', async (t) => {
  const headers = [['authorization', 'Bearer of-the-agent'], ['accept', '*/*']] as const;
  const auth = 'auth: {credential: hub, provider: github}';
  const good = await run([auth], { headers, minted: { value: 'Bearer minted', secrets: ['minted'] } });
  t.strictSame([good.request.headers, good.authUsed, good.secretsSent], [[['accept', '*/*'], ['Authorization', 'Bearer minted']], ['hub'], ['minted']]);
  const none = await run([auth], { headers });
  t.strictSame([none.request.headers, [...none.failed], [...none.authFailures], none.authUsed], [[['accept', '*/*']], [['transform[0]', 'auth_unavailable']], [['hub', 'auth_unavailable']], []]);
  const broken = await run([auth], { headers, minted: { value: 'Bearer a\r\nx: y', secrets: [] } });
  t.strictSame(broken.request.headers, [['accept', '*/*']]);
});

t.test('auth: nothing is minted for plain http nor for methods that echo', async (t) => {
  for (const given of [{ scheme: 'http' }, { method: 'OPTIONS' }] as const) {
    let minted = 0;
    const outcome = await run(['auth: {credential: hub, provider: github}'], { ...given, headers: [['Authorization', 'x']], minted: { value: 'Bearer m', secrets: [] }, onMint: () => { minted += 1; } });
    t.strictSame([outcome.request.headers, outcome.authFailures.get('hub'), minted], [[], 'auth_unavailable', 0]);
  }
});

t.test('auth: a token in the query', async (t) => {
  const outcome = await run(['auth: {credential: search, provider: serpapi}'], { query: 'q=x&api_key=mine&api%5Fkey=also', minted: { value: 'a b&c', secrets: ['a b&c'] } });
  t.equal(outcome.request.rawQuery, 'q=x&api_key=a%20b%26c');
});
