import t from 'tap';
import { createClientBounds } from '../../../src/proxy/dns/client-bounds.ts';
import { dnsLimitsDefault } from '../../../src/proxy/dns/dns-door.ts';
import { addressesIn, askTcp, askUdp, named, read, startHarness } from './dns-harness.ts';

t.test('open queries of one client and of all are bounded, and come free again', (t) => {
  const bounds = createClientBounds({ ...dnsLimitsDefault, openMax: 3, openPerClientMax: 2 }, () => 0);
  const first = bounds.enter('a');
  t.ok(first);
  t.ok(bounds.enter('a'));
  t.equal(bounds.enter('a'), undefined, 'two of one client');
  t.ok(bounds.enter('b'));
  t.equal(bounds.enter('c'), undefined, 'three of all');
  first?.done();
  first?.done();
  t.equal(bounds.open, 2, 'done once, however often it is called');
  t.ok(bounds.enter('c'));
  t.end();
});

t.test('rates: a burst, then as many as time gives; clients are forgotten oldest first', (t) => {
  let now = 0;
  const bounds = createClientBounds({ ...dnsLimitsDefault, ratePerSecond: 2, burst: 3, clientsMax: 2 }, () => now);
  const pass = (client: string): boolean => {
    const entered = bounds.enter(client);
    entered?.done();
    return entered !== undefined;
  };
  t.same([1, 2, 3, 4].map(() => pass('a')), [true, true, true, false]);
  now = 500;
  t.same([pass('a'), pass('a')], [true, false]);
  now = 60_000;
  t.same([1, 2, 3, 4].map(() => pass('a')), [true, true, true, false], 'never more than the burst');
  t.ok(pass('b'));
  t.notOk(pass('a'), 'b beside it changes nothing');
  t.ok(pass('c'));
  t.ok(pass('d'));
  t.ok(pass('a'), 'forgotten');
  t.equal(bounds.open, 0);
  t.end();
});

t.test('a client with too many open lookups: datagrams dropped, connections told, answers still come', async (t) => {
  const waiting: (() => void)[] = [];
  const { door } = await startHarness(t, {
    limits: { openPerClientMax: 2 },
    resolve: () => new Promise((resolve) => waiting.push(() => resolve({ rcode: 'NOERROR', addresses: ['93.184.216.34'], ttlSeconds: 1 }))),
  });
  const open = [askTcp(door.port, named('a.wild.example')), askTcp(door.port, named('b.wild.example'))];
  while (waiting.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  t.match(read((await askTcp(door.port, named('c.wild.example')))[0]), { rcode: 5 });
  t.equal(waiting.length, 2);
  for (const release of waiting) release();
  for (const [answer] of await Promise.all(open)) t.same(addressesIn(answer), ['93.184.216.34']);
  t.equal(door.open(), 0);
});

t.test('every form of IPv6 address goes over the wire as it is', async (t) => {
  const forms = ['2001:db8:1:2:3:4:5:6', '2001:db8::', '2001:db8::6', '::1', '1::', '2001:0:0:1::1', '::ffff:a00:1'];
  const { door } = await startHarness(t, { resolve: () => Promise.resolve({ rcode: 'NOERROR', addresses: forms, ttlSeconds: 1 }) });
  const answer = await askUdp(door.port, named('api.example.com', 'AAAA', { edns: { payloadBytes: 1232 } }));
  t.equal(answer?.length, 12 + 21 + forms.length * 28 + 11);
  const bytes = forms.map((_, index) => answer?.subarray(33 + index * 28 + 12, 33 + (index + 1) * 28).toString('hex'));
  t.same(bytes, [
    '20010db8000100020003000400050006', '20010db8000000000000000000000000', '20010db8000000000000000000000006', '00000000000000000000000000000001',
    '00010000000000000000000000000000', '20010000000000010000000000000001', '00000000000000000000ffff0a000001',
  ]);
});
