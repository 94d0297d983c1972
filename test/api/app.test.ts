import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import Type from 'typebox';
import type { InjectOptions } from 'fastify';
import t from 'tap';
import { AppError } from '../../src/kernel/errors.ts';
import { parameters, cursor, filter, limit, order } from '../../src/api/parameters.ts';
import { healthz, readyz } from '../../src/api/routes/health.ts';
import { metrics } from '../../src/api/routes/metrics.ts';
import { session } from '../../src/api/routes/session.ts';
import { definePublicRoute, defineRoute, jsonAnswer } from '../../src/api/route.ts';
import type { RouteRow } from '../../src/api/route.ts';
import { startSkeleton } from './skeleton.ts';

const anything = { 200: jsonAnswer('Anything', Type.Unknown()) };
const querystring = parameters({ filter, order: order('desc'), limit, cursor });

const rows: RouteRow[] = [
  { method: 'GET', path: '/v1/echo', scopes: ['audit:read'], tag: 't', route: () => defineRoute({ summary: 'echo', querystring, response: anything }, ({ query }) => ({ query })) },
  { method: 'POST', path: '/v1/things', scopes: ['config:write'], tag: 't', route: () => defineRoute({ summary: 'make', body: Type.Object({ name: Type.String() }, { additionalProperties: false }), response: anything }, ({ body }) => body) },
  { method: 'DELETE', path: '/v1/things/{id}', scopes: ['config:write'], tag: 't', route: () => defineRoute({ summary: 'drop', response: anything }, () => ({})) },
  { method: 'GET', path: '/v1/live', scopes: ['audit:read'], tag: 't', stream: true, route: () => defineRoute({ summary: 'live', response: anything }, () => ({})) },
  { method: 'GET', path: '/v1/boom', scopes: 'public', tag: 't', route: () => definePublicRoute({ summary: 'boom', response: anything }, () => {
    throw new Error('SELECT secret FROM postgres://user:hunter2@db');
  }) },
  { method: 'GET', path: '/v1/down', scopes: 'public', tag: 't', route: () => definePublicRoute({ summary: 'down', response: anything }, () => {
    throw new AppError('dependency_unavailable', 'the audit store does not answer', { dependency: 'clickhouse' }, { cause: new Error('hunter2') });
  }) },
  { method: 'GET', path: '/v1/session', scopes: [], tag: 't', route: session },
  { method: 'GET', path: '/healthz', scopes: 'public', tag: 't', unlimited: true, route: healthz },
  { method: 'GET', path: '/readyz', scopes: 'public', tag: 't', unlimited: true, route: readyz },
  { method: 'GET', path: '/metrics', scopes: 'public', tag: 't', unlimited: true, route: metrics },
];

type Failure = { error: { code: string; message: string; request_id: string; details?: { fields?: Record<string, string>; state?: string; dependencies?: Record<string, string> } } };

t.test('every refusal has the body of contract 2.6 and its request id in a header', async (t) => {
  const { app, apiKey, token } = await startSkeleton(t.testdir(), rows, { apiBodyBytesMax: 1024 });
  t.teardown(() => app.close());
  const auth = { authorization: `Bearer ${apiKey}` };
  const json = { ...auth, 'content-type': 'application/json' };
  const member = { authorization: `Bearer ${await token('member')}` };
  const cases: [string, InjectOptions, number, string, string?][] = [
    ['no credential', { url: '/v1/echo' }, 401, 'unauthenticated'],
    ['a wrong credential', { url: '/v1/echo', headers: { authorization: 'Bearer ch_nope' } }, 401, 'unauthenticated'],
    ['a wrong credential before a wrong parameter', { url: '/v1/echo?limit=0' }, 401, 'unauthenticated'],
    ['a scope that is missing, before a wrong parameter', { url: '/v1/echo?limit=0', headers: member }, 403, 'permission_denied'],
    ['a key in the query of an ordinary route', { url: `/v1/echo?api_key=${apiKey}` }, 401, 'unauthenticated'],
    ['the same beside a good header', { url: `/v1/echo?api_key=${apiKey}`, headers: auth }, 400, 'validation_error', 'api_key'],
    ['a repeated key on a stream', { url: `/v1/live?api_key=${apiKey}&api_key=${apiKey}` }, 401, 'unauthenticated'],
    ['an unknown parameter', { url: '/v1/echo?offset=3', headers: auth }, 400, 'validation_error', 'offset'],
    ['a parameter named like a builtin', { url: '/v1/echo?__proto__=3&constructor=1', headers: auth }, 400, 'validation_error', 'constructor'],
    ['a repeated single parameter', { url: '/v1/echo?limit=3&limit=4', headers: auth }, 400, 'validation_error', 'limit'],
    ['limit 0', { url: '/v1/echo?limit=0', headers: auth }, 400, 'validation_error', 'limit'],
    ['limit 10001', { url: '/v1/echo?limit=10001', headers: auth }, 400, 'validation_error', 'limit'],
    ...['-1', '1e3', '0x10', '1.5', ' 5', '', 'true', '99999999999999999999', 'NaN'].map((text): [string, { url: string; headers: typeof auth }, number, string, string] => [`limit ${JSON.stringify(text)}`, { url: `/v1/echo?limit=${encodeURIComponent(text)}`, headers: auth }, 400, 'validation_error', 'limit']),
    ['an order that is none', { url: '/v1/echo?order=up', headers: auth }, 400, 'validation_error', 'order'],
    ['an unknown route', { url: '/v1/nothing' }, 404, 'not_found'],
    ['the root', { url: '/' }, 404, 'not_found'],
    ['a trailing slash', { url: '/v1/echo/', headers: auth }, 404, 'not_found'],
    ['a wrong method', { url: '/v1/echo', method: 'PUT', headers: auth }, 405, 'method_not_allowed'],
    ['a wrong method on a path with a parameter', { url: '/v1/things/7', method: 'GET' }, 405, 'method_not_allowed'],
    ['a path that cannot be decoded', { url: '/v1/%zz' }, 400, 'validation_error', 'path'],
    ['a path parameter that is far too long', { url: `/v1/things/${'a'.repeat(5000)}`, method: 'DELETE', headers: auth }, 404, 'not_found'],
    ['malformed JSON', { url: '/v1/things', method: 'POST', headers: json, payload: '{"name":' }, 400, 'validation_error', 'body'],
    ['an empty JSON body', { url: '/v1/things', method: 'POST', headers: json, payload: '' }, 400, 'validation_error', 'body'],
    ['JSON with __proto__', { url: '/v1/things', method: 'POST', headers: json, payload: '{"name":"a","__proto__":{"x":1}}' }, 400, 'validation_error', 'body'],
    ['an unknown field', { url: '/v1/things', method: 'POST', headers: json, payload: '{"name":"a","size":2}' }, 400, 'validation_error', 'size'],
    ['a missing field', { url: '/v1/things', method: 'POST', headers: json, payload: '{}' }, 400, 'validation_error', 'name'],
    ['a body of another type', { url: '/v1/things', method: 'POST', headers: { ...auth, 'content-type': 'text/xml' }, payload: '<a/>' }, 415, 'unsupported_media_type'],
    ['a body that is too large', { url: '/v1/things', method: 'POST', headers: json, payload: JSON.stringify({ name: 'x'.repeat(2000) }) }, 413, 'payload_too_large'],
    ['a failure of ours', { url: '/v1/boom' }, 500, 'internal'],
    ['a dependency that is down', { url: '/v1/down' }, 503, 'dependency_unavailable'],
  ];
  for (const [name, options, status, code, field] of cases) {
    const answer = await app.inject(options);
    const body = answer.json<Failure>();
    t.equal(answer.statusCode, status, `${name}: status`);
    t.equal(body.error.code, code, `${name}: code`);
    t.same(Object.keys(body), ['error'], `${name}: nothing beside error`);
    t.match(answer.headers['content-type'], /^application\/json/, `${name}: type`);
    t.match(body.error.request_id, /^[0-9a-f-]{36}$/, `${name}: request id`);
    t.equal(answer.headers['x-request-id'], body.error.request_id, `${name}: header`);
    t.notMatch(answer.body, /hunter2|SELECT|at .*\.ts|node_modules/, `${name}: leaks nothing`);
    if (field !== undefined) t.ok(Object.hasOwn(body.error.details?.fields ?? {}, field), `${name}: names ${field}`);
  }
});

t.test('good answers', async (t) => {
  const { app, apiKey, token } = await startSkeleton(t.testdir(), rows);
  t.teardown(() => app.close());
  const auth = { authorization: `Bearer ${apiKey}` };
  const echoed = async (query: string): Promise<unknown> => (await app.inject({ url: `/v1/echo${query}`, headers: auth })).json<{ query: unknown }>().query;
  t.same(await echoed(''), { order: 'desc', limit: 100 }, 'defaults');
  t.same(await echoed('?filter=a%3Db'), { filter: ['a=b'], order: 'desc', limit: 100 }, 'one filter is a list');
  t.same(await echoed('?filter=a%3Db&filter=c!%3D&limit=10000&order=asc'), { filter: ['a=b', 'c!='], limit: 10000, order: 'asc' });
  const answer = await app.inject({ url: '/v1/session', headers: { authorization: `Bearer ${await token('operator')}`, 'x-request-id': 'mine' } });
  t.match(answer.json(), { kind: 'session', user_id: 'user_1', role: 'operator' });
  t.not(answer.headers['x-request-id'], 'mine', 'request ids are ours alone');
  for (const [header, value] of Object.entries({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'cache-control': 'no-store', 'content-security-policy': /default-src 'none'/, 'strict-transport-security': /max-age/ })) {
    t.match(answer.headers[header], value, header);
  }
  t.notOk(answer.headers['x-powered-by']);
  t.equal((await app.inject({ url: `/v1/live?api_key=${apiKey}` })).statusCode, 200, 'a stream takes its key from the query');
});

t.test('blocked tenants may read and not change', async (t) => {
  const { app, apiKey, setOrgState } = await startSkeleton(t.testdir(), rows);
  t.teardown(() => app.close());
  const auth = { authorization: `Bearer ${apiKey}` };
  const post = () => app.inject({ url: '/v1/things', method: 'POST', headers: { ...auth, 'content-type': 'application/json' }, payload: '{"name":"a"}' });
  for (const state of ['active', 'trial']) {
    setOrgState(state);
    t.equal((await post()).statusCode, 200, state);
  }
  for (const state of ['past_due', 'decommissioning', 'trial_expired']) {
    setOrgState(state);
    for (const answer of [await post(), await app.inject({ url: '/v1/things/1', method: 'DELETE', headers: auth })]) {
      t.equal(answer.statusCode, 403, state);
      t.match(answer.json<Failure>().error, { code: 'tenant_blocked', details: { state } });
    }
    t.equal((await app.inject({ url: '/v1/echo', headers: auth })).statusCode, 200, `${state} still reads`);
  }
});

t.test('rate limits', async (t) => {
  const { app, apiKey, token } = await startSkeleton(t.testdir(), rows, { rateLimitPerMinute: 5 });
  t.teardown(() => app.close());
  const tokens = await Promise.all(['a', 'b'].map((user) => token('owner', user)));
  const ask = (credential: string | undefined, url = '/v1/session') => app.inject({ url, ...(credential === undefined ? {} : { headers: { authorization: `Bearer ${credential}` } }) });
  const first = await ask(apiKey);
  t.match(first.headers, { 'x-ratelimit-limit': 5, 'x-ratelimit-remaining': 4 });
  for (let i = 0; i < 4; i += 1) t.equal((await ask(apiKey)).statusCode, 200);
  const refused = await ask(apiKey);
  t.equal(refused.statusCode, 429);
  t.equal(refused.json<Failure>().error.code, 'rate_limited');
  t.ok(Number(refused.headers['retry-after']) >= 1 && Number(refused.headers['retry-after']) <= 60, 'retry-after in seconds');
  for (const user of tokens) t.equal((await ask(user)).statusCode, 200, 'other callers have a count of their own');
  for (let i = 0; i < 20; i += 1) t.equal((await ask(undefined, '/healthz')).statusCode, 200, 'health is exempt');
  const codes: number[] = [];
  for (let i = 0; i < 70; i += 1) codes.push((await ask('ch_guess')).statusCode);
  t.same(codes, [...Array<number>(60).fill(401), ...Array<number>(10).fill(429)], 'guessing keys is limited by address');
  t.equal((await ask(tokens[0])).statusCode, 200, 'and a good credential from that address still works');
});

t.test('readiness names what is down', async (t) => {
  const { app } = await startSkeleton(t.testdir(), rows, {}, { postgres: async () => 'fine', clickhouse: async () => { throw new Error('connect ECONNREFUSED 10.1.2.3 password=hunter2'); }, redis: async () => undefined });
  t.teardown(() => app.close());
  const answer = await app.inject({ url: '/readyz' });
  t.equal(answer.statusCode, 503);
  t.match(answer.json<Failure>().error, { code: 'dependency_unavailable', message: /clickhouse/, details: { dependencies: { postgres: 'ok', clickhouse: 'down', redis: 'ok' } } });
  t.notMatch(answer.body, /10\.1|hunter2/);
  t.equal((await app.inject({ url: '/healthz' })).statusCode, 200, 'alive all the same');
});

t.test('metrics count requests by route, not by URL', async (t) => {
  const { app, apiKey } = await startSkeleton(t.testdir(), rows);
  t.teardown(() => app.close());
  await app.inject({ url: '/v1/things/123456', method: 'DELETE', headers: { authorization: `Bearer ${apiKey}` } });
  await app.inject({ url: '/v1/654321' });
  const answer = await app.inject({ url: '/metrics' });
  t.match(answer.body, 'customhouse_api_request_seconds_count{method="DELETE",route="/v1/things/{id}",status="200"} 1');
  t.match(answer.body, 'route="unknown",status="404"');
  t.notMatch(answer.body, /123456|654321/);
});

t.test('the log names caller and route, and holds no secret', async (t) => {
  const { app, apiKey, log, token } = await startSkeleton(t.testdir(), rows);
  t.teardown(() => app.close());
  const bearer = await token('owner', 'someone');
  await app.inject({ url: `/v1/live?api_key=${apiKey}`, headers: { cookie: 'sid=topsecret' } });
  await app.inject({ url: `/v1/live?%61pi_key=${apiKey}` });
  await app.inject({ url: `/v1/live?API_KEY=${apiKey}&filter=decision%3Ddeny` });
  await app.inject({ url: '/v1/session', headers: { authorization: `Bearer ${bearer}` } });
  await app.inject({ url: `/v1/session?${apiKey}`, headers: { authorization: `Bearer ${bearer}` } });
  await app.inject({ url: '/v1/session', headers: { authorization: `Bearer ${bearer}x` } });
  await app.inject({ url: '/v1/boom' });
  const text = log();
  for (const secret of [apiKey, apiKey.slice(11), bearer, bearer.split('.')[2] ?? '', 'topsecret']) t.notMatch(text, new RegExp(secret.replaceAll('-', '\\-')), 'absent from the log');
  t.match(text, '"caller":"api_key:key-1"');
  t.match(text, '"caller":"session:someone"');
  t.match(text, '"url":"/v1/live?api_key=[redacted]"');
  t.match(text, 'filter=decision%3Ddeny', 'what is no secret stays readable');
  const boom = text.split('\n').filter((line) => line.includes('request failed'));
  t.equal(boom.length, 1, 'an internal error is logged once');
  t.match(JSON.parse(boom[0] ?? '{}'), { request_id: /^[0-9a-f-]{36}$/, err: { type: 'Error' } });
});

t.test('what the HTTP parser refuses has the same body', async (t) => {
  const { app } = await startSkeleton(t.testdir(), rows, { apiRequestTimeoutMs: 1500 });
  t.teardown(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const raw = (text: string): Promise<string> => new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString();
    });
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
  });
  const cases: [string, string, number, string][] = [
    ['not HTTP', 'hello\r\n\r\n', 400, 'validation_error'],
    ['an oversized URL', `GET /v1/echo?filter=${'x'.repeat(70_000)} HTTP/1.1\r\nhost: a\r\n\r\n`, 431, 'headers_too_large'],
    ['oversized headers', `GET /healthz HTTP/1.1\r\nhost: a\r\nx-a: ${'x'.repeat(70_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['no host', 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n', 400, 'validation_error'],
    ['both lengths', 'POST /v1/things HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n', 400, 'validation_error'],
    ['headers that never end', 'GET /healthz HTTP/1.1\r\nhost: a\r\n', 408, 'request_timeout'],
    ['a body that never comes', 'POST /v1/boom HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n', 408, 'request_timeout'],
  ];
  for (const [name, text, status, code] of cases) {
    const answer = await raw(text);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    t.match(head, `HTTP/1.1 ${status} `, `${name}: status`);
    const parsed = JSON.parse(body) as Failure;
    t.equal(parsed.error.code, code, `${name}: code`);
    t.match(head, `x-request-id: ${parsed.error.request_id}`, `${name}: header`);
  }
});

t.test('a request that is running when the app closes is finished', async (t) => {
  let finish = (): void => undefined;
  const started = new Promise<void>((resolveStarted) => {
    rowsWithSlow.push({ method: 'GET', path: '/slow', scopes: 'public', tag: 't', route: () => definePublicRoute({ summary: 'slow', response: anything }, async () => {
      resolveStarted();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return { done: true };
    }) });
  });
  const { app } = await startSkeleton(t.testdir(), rowsWithSlow);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const answer = new Promise<string>((resolve, reject) => {
    httpRequest({ port, path: '/slow' }, (response) => response.setEncoding('utf8').on('data', resolve)).on('error', reject).end();
  });
  await started;
  const closed = app.close();
  finish();
  t.equal(await answer, '{"done":true}');
  await closed;
});

const rowsWithSlow: RouteRow[] = [];
