import t from 'tap';
import { run } from './run.ts';

t.test('header: set replaces every one of the name, add keeps them, remove takes them all', async (t) => {
  const headers = [['X-Demo', '1'], ['accept', '*/*'], ['x-demo', '2']] as const;
  const set = await run([`header: {name: X-demo, action: set, value: '"new"'}`], { headers });
  t.strictSame(set.request.headers, [['accept', '*/*'], ['X-demo', 'new']]);
  const add = await run([`header: {name: X-demo, action: add, value: 'workspace.id + task.id'}`], { headers });
  t.strictSame(add.request.headers, [...headers, ['X-demo', 'w1t1']]);
  const removed = await run(['header: {name: X-DEMO, action: remove}'], { headers });
  t.strictSame(removed.request.headers, [['accept', '*/*']]);
  t.equal(set.applied, 1);
});

t.test('header: a value that would end the line is no value', async (t) => {
  for (const escape of ['\\\\r\\\\nx: y', '\\\\n', '\\\\u0000', 'ä', ' lead', 'trail ', '\\\\u007f']) {
    const outcome = await run([`{name: h, header: {name: x-demo, action: set, value: "'${escape}'"}}`], { headers: [['x-demo', 'old']] });
    t.strictSame([...outcome.failed], [['h', 'apply_error']], JSON.stringify(escape));
    t.strictSame(outcome.request.headers, [['x-demo', 'old']], 'the request stays as it was');
  }
  t.strictSame([...(await run([`header: {name: x-demo, action: set, value: '""'}`])).request.headers], [['x-demo', '']], 'an empty value is one');
});

t.test('header: the headers the proxy owns, and more than fits', async (t) => {
  const outcome = await run([`header: {name: Content-Length, action: set, value: '"0"'}`, 'header: {name: transfer-encoding, action: remove}', `header: {name: x-big, action: set, value: '"${'x'.repeat(900)}"'}`, `header: {name: x-big-2, action: set, value: '"${'x'.repeat(900)}"'}`, `header: {name: x-big-3, action: set, value: '"${'x'.repeat(900)}"'}`]);
  t.strictSame([...outcome.failed], [['transform[0]', 'apply_error'], ['transform[1]', 'apply_error'], ['transform[4]', 'apply_error']]);
  t.equal(outcome.applied, 2);
});

t.test('secrets: sent and told of for scrubbing; one that is not there is an apply_error', async (t) => {
  const transforms = [`header: {name: x-key, action: set, value: 'secrets["key"]'}`, `header: {name: x-other, action: set, value: 'secrets["none"]'}`];
  const outcome = await run(transforms, { secrets: { key: 's3cret-value' } });
  t.strictSame(outcome.request.headers, [['x-key', 's3cret-value']]);
  t.strictSame(outcome.secretsSent, ['s3cret-value']);
  t.strictSame([...outcome.failed], [['transform[1]', 'apply_error']]);
});

t.test('values see the request that was decided, whatever earlier transforms made of it', async (t) => {
  const outcome = await run([`path: {action: prefix, value: '"/eu"'}`, `header: {name: x-path, action: set, value: request.path}`, `header: {name: x-old, action: set, value: 'request.headers["x-old"] + "!"'}`, `header: {name: x-again, action: set, value: 'request.headers["x-old"]'}`], { headers: [['x-old', 'a']] });
  t.strictSame([outcome.request.path, outcome.request.headers], ['/eu/v1/items', [['x-path', '/v1/items'], ['x-old', 'a!'], ['x-again', 'a']]]);
});

t.test('path: replace is literal and everywhere, and the result must be a path an agent may send', async (t) => {
  const replace = (pattern: string, value: string): Promise<string> => run([`path: {action: replace, pattern: '${pattern}', value: '"${value}"'}`], { path: '/v1/a/v1' }).then(({ request, failed }) => failed.get('transform[0]') ?? request.path);
  t.equal(await replace('v1', 'v2'), '/v2/a/v2');
  t.equal(await replace('^/v(\\d)', '/$1x'), '/$1x/a/v1', 'no groups in the value');
  t.equal(await replace('nothing', 'x'), '/v1/a/v1');
  for (const value of ['..', '/', 'a?b', 'a#b', 'a b', '%zz', '%00', 'ä', '%2e%2e', '\\\\r']) t.equal(await replace('a', value), 'apply_error', value);
  t.equal((await run([`path: {action: prefix, value: '"${'/long'.repeat(120)}"'}`])).failed.get('transform[0]'), 'apply_error', 'bounded');
  t.equal((await run([`path: {action: prefix, value: '"no-slash"'}`])).failed.get('transform[0]'), 'apply_error');
});

t.test('query: what is not touched keeps its bytes; names are compared decoded', async (t) => {
  const query = 'a=1&b=%7e&%61=2&c&a+b=3';
  t.equal((await run([`query: {key: a, action: set, value: '"x&y=z é"'}`], { query })).request.rawQuery, 'b=%7e&c&a+b=3&a=x%26y%3Dz%20%C3%A9');
  t.equal((await run(['query: {key: a, action: remove}'], { query })).request.rawQuery, 'b=%7e&c&a+b=3');
  t.equal((await run(['query: {key: a b, action: remove}'], { query })).request.rawQuery, 'a=1&b=%7e&%61=2&c');
  t.equal((await run(['query: {key: none, action: remove}'])).request.rawQuery, '');
  t.equal((await run([`query: {key: k, action: set, value: '"${'x'.repeat(600)}"'}`])).failed.get('transform[0]'), 'apply_error', 'bounded');
});

t.test('an expression that fails changes nothing, and the next one runs', async (t) => {
  const outcome = await run([`{name: first, header: {name: x-a, action: set, value: 'request.headers["none"]'}}`, `header: {name: x-b, action: set, value: '"b"'}`]);
  t.strictSame([...outcome.failed], [['first', 'eval_error']]);
  t.strictSame(outcome.request.headers, [['x-b', 'b']]);
});
