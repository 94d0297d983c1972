import t from 'tap';
import { readAddress } from '../../../src/proxy/upstream/address.ts';
import type { Lookup } from '../../../src/proxy/upstream/lookup-queue.ts';
import { createOwnListeners } from '../../../src/proxy/upstream/own-listeners.ts';
import { readPrivateUpstreams } from '../../../src/proxy/upstream/private-upstreams.ts';
import type { Resolver } from '../../../src/proxy/upstream/resolve.ts';
import { createResolver } from '../../../src/proxy/upstream/resolve.ts';

function resolverOf(answers: (name: string) => readonly string[] | Error, options: { allow?: string; own?: { host: string; port: number }[]; nowMs?: () => number } = {}): { resolver: Resolver; asked: string[] } {
  const asked: string[] = [];
  const lookup: Lookup = async (name) => {
    asked.push(name);
    const found = answers(name);
    if (found instanceof Error) throw found;
    return found.map((address) => ({ address }));
  };
  const resolver = createResolver({
    allowed: readPrivateUpstreams(options.allow ?? ''),
    isOwn: createOwnListeners(() => options.own ?? []),
    lookup, timeoutMs: 200, ...(options.nowMs === undefined ? {} : { nowMs: options.nowMs }),
  });
  return { resolver, asked };
}
const target = (host: string, port = 443, literal = false) => ({ host, port, literal });
const refused = { failure: 'address_refused' };

t.test('a name is refused when any of its addresses is not public, wherever it stands in the answer', async (t) => {
  const public4 = '93.184.216.34';
  for (const answers of [['10.0.0.1'], [public4, '10.0.0.1'], ['10.0.0.1', public4], [public4, '2606:4700::1', '::1'], [public4, '::ffff:127.0.0.1'], [public4, 'fe80::1%eth0'], [...Array.from({ length: 20 }, (_, i) => `93.184.216.${i}`), '127.0.0.1']]) {
    const { resolver } = resolverOf(() => answers);
    t.same(await resolver.resolve(target('api.example.com')), refused, answers.join(' '));
  }
  const { resolver } = resolverOf(() => [public4, '2606:4700::1', '::ffff:93.184.216.34']);
  t.match(await resolver.resolve(target('api.example.com')), { addresses: [public4, '2606:4700::1'] });
});

t.test('literal addresses: by the policy only when it names them; a policy that names a host does not open what it resolves to', async (t) => {
  const { resolver, asked } = resolverOf(() => ['10.0.0.1']);
  t.same(await resolver.resolve(target('10.0.0.1')), refused);
  t.match(await resolver.resolve(target('10.0.0.1', 443, true)), { addresses: ['10.0.0.1'] });
  t.same(await resolver.resolve(target('10.0.0.1')), refused, 'one workspace naming it says nothing for another');
  t.same(await resolver.resolve(target('internal.example.com', 443, true)), refused);
  t.match(await resolver.resolve(target('8.8.8.8')), { addresses: ['8.8.8.8'] });
  t.same(await resolver.resolve(target('::ffff:7f00:1')), refused);
  t.same(asked, ['internal.example.com.'], 'addresses are not looked up');
});

t.test('the setting: networks, names, everything; never metadata', async (t) => {
  const private4 = () => ['10.1.2.3'];
  t.match(await resolverOf(private4, { allow: '10.0.0.0/8' }).resolver.resolve(target('a.example')), { addresses: ['10.1.2.3'] });
  t.same(await resolverOf(private4, { allow: '10.2.0.0/16, ::/0' }).resolver.resolve(target('a.example')), refused);
  t.match(await resolverOf(private4, { allow: 'A.example.' }).resolver.resolve(target('a.example')), { addresses: ['10.1.2.3'] });
  t.same(await resolverOf(private4, { allow: 'b.example' }).resolver.resolve(target('a.example')), refused);
  t.match(await resolverOf(private4, { allow: '*' }).resolver.resolve(target('a.example')), { addresses: ['10.1.2.3'] });
  for (const address of ['169.254.169.254', 'fd00:ec2::254', '100.100.100.200', '168.63.129.16', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '0.0.0.0', '::']) {
    t.same(await resolverOf(() => ['8.8.8.8', address], { allow: '*,a.example,0.0.0.0/0,::/0' }).resolver.resolve(target('a.example')), refused, address);
    const text = readAddress(address)?.text ?? '';
    t.same(await resolverOf(() => [], { allow: '*' }).resolver.resolve(target(text, 80, true)), refused, `literal ${address}`);
  }
  t.same(await resolverOf(() => ['8.8.8.8'], { allow: '*' }).resolver.resolve(target('metadata.google.internal')), refused);
  for (const text of ['10.0.0.0/33', 'http://a', 'a b', '127.1', '*.example.com']) t.throws(() => readPrivateUpstreams(text), /PROXY_ALLOW_PRIVATE_UPSTREAMS/, text);
});

t.test('our own listeners are refused whatever is opted out', async (t) => {
  const own = [{ host: '127.0.0.1', port: 8081 }, { host: '0.0.0.0', port: 53 }, { host: 'localhost', port: 8082 }, { host: '::', port: 9000 }];
  const { resolver } = resolverOf(() => ['127.0.0.1'], { allow: '*', own });
  for (const [host, port] of [['127.0.0.1', 8081], ['a.example', 8081], ['::ffff:127.0.0.1', 8081], ['127.0.0.1', 53], ['127.9.9.9', 53], ['::1', 53], ['127.0.0.1', 8082], ['::1', 9000]] as const) {
    t.same(await resolver.resolve(target(host, port, true)), refused, `${host} ${port}`);
  }
  for (const [host, port] of [['127.0.0.1', 8080], ['a.example', 80], ['127.0.0.2', 8081], ['8.8.8.8', 53]] as const) {
    t.match(await resolver.resolve(target(host, port)), { addresses: [readAddress(host)?.text ?? '127.0.0.1'] }, `${host} ${port}`);
  }
});

t.test('one lookup for many, kept for seconds, vetted anew after', async (t) => {
  let now = 0;
  let answers = ['93.184.216.34'];
  const { resolver, asked } = resolverOf(() => answers, { nowMs: () => now });
  const all = await Promise.all(Array.from({ length: 50 }, async () => resolver.resolve(target('a.example'))));
  t.ok(all.every((one) => 'addresses' in one));
  t.same(asked, ['a.example.']);
  answers = ['127.0.0.1'];
  now = 9_999;
  const kept = resolver.resolve(target('a.example'));
  t.notOk(kept instanceof Promise, 'known answers come at once');
  t.match(kept, { addresses: ['93.184.216.34'] }, 'the vetted address stands while it is kept');
  now = 30_000;
  t.same(await resolver.resolve(target('a.example')), refused);
  t.equal(asked.length, 2);
});

t.test('lookups that fail, come to nothing, or never end', async (t) => {
  const failed = { failure: 'resolve_failed' };
  t.same(await resolverOf(() => new Error('ENOTFOUND')).resolver.resolve(target('a.example')), failed);
  t.same(await resolverOf(() => []).resolver.resolve(target('a.example')), failed);
  let running = 0;
  let most = 0;
  const release: (() => void)[] = [];
  const resolver = createResolver({
    allowed: readPrivateUpstreams(''), isOwn: () => false, timeoutMs: 50,
    lookup: () => {
      running += 1;
      most = Math.max(most, running);
      return new Promise((resolve) => release.push(() => {
        running -= 1;
        resolve([{ address: '8.8.8.8' }]);
      }));
    },
  });
  const all = await Promise.all(Array.from({ length: 3000 }, async (_, i) => resolver.resolve(target(`n${i}.example`))));
  t.ok(all.every((one) => 'failure' in one && one.failure === 'resolve_failed'));
  t.equal(most, 8, 'lookups at a time');
  for (const one of release) one();
  t.match(await Promise.race([resolver.resolve(target('late.example')), new Promise((done) => setImmediate(done)).then(() => {
    for (const one of release) one();
    return new Promise(() => undefined);
  })]), { addresses: ['8.8.8.8'] }, 'places come back');
});

t.test('names kept are bounded', async (t) => {
  const { resolver } = resolverOf(() => ['8.8.8.8']);
  for (let at = 0; at < 4200; at += 1) await resolver.resolve(target(`n${at}.example`));
  t.equal(resolver.size, 4096);
});
