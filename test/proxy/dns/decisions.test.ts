import t from 'tap';
import { ResolveError } from '../../../src/proxy/dns/resolution.ts';
import { addressesIn, askTcp, askUdp, named, orgId, rawQuery, read, startHarness, typeNumbers, workspaceId } from './dns-harness.ts';

const transports = { udp: askUdp, tcp: async (port: number, packet: Buffer) => (await askTcp(port, packet))[0] };

for (const [transport, ask] of Object.entries(transports)) {
  t.test(`${transport}: an admitted name is resolved, with a short TTL and one row`, async (t) => {
    const { door, rows, resolved } = await startHarness(t);
    const answer = read(await ask(door.port, named('API.example.COM')));
    t.same(answer.answers, [{ name: 'API.example.COM', type: 'A', class: 'IN', flush: false, ttl: 30, data: '93.184.216.34' }], 'in the case it was asked in');
    t.match(answer, { id: 0x1234, rcode: 0, flag_qr: true, flag_ra: true, flag_rd: true, flag_aa: false, flag_tc: false });
    t.same(addressesIn(await ask(door.port, named('a.wild.example', 'AAAA'))), ['2606:2800:220:1::1']);
    t.same(resolved, ['api.example.com', 'a.wild.example']);
    t.equal(rows.length, 2);
    t.match(rows[0], {
      event_type: 'policy_decision', org_id: orgId, user_id: 'user_1', workspace_id: workspaceId, agent_role: 'coder', agent_provider: 'anthropic', destination: 'api.example.com',
      decision: 'allow', policy_type: 'dns', phase: 'dns', capability_name: 'web', detail: { query_type: 'A', rcode: 'NOERROR', addresses: ['93.184.216.34'] },
    });
  });

  t.test(`${transport}: a denied name gets its own address, no row, and never leaves`, async (t) => {
    const { door, rows, resolved, addresses } = await startHarness(t);
    const answer = read(await ask(door.port, named('Secret.attacker.example')));
    const [record] = answer.answers ?? [];
    t.match(record, { name: 'Secret.attacker.example', type: 'A', ttl: 5, data: /^198\.1[89]\./ });
    const [v4] = addressesIn(await ask(door.port, named('secret.attacker.example')));
    const [v6] = addressesIn(await ask(door.port, named('secret.attacker.example', 'AAAA')));
    t.same(record !== undefined && 'data' in record ? record.data : undefined, v4, 'the same for every case');
    for (const address of [v4, v6]) t.equal(addresses.nameOf(workspaceId, String(address)), 'secret.attacker.example');
    t.not(v4, addressesIn(await ask(door.port, named('other.attacker.example')))[0]);
    t.same(resolved, []);
    t.same(rows, []);
  });

  t.test(`${transport}: types without an answer are NODATA with SOA, also for admitted names`, async (t) => {
    const { door, rows, resolved } = await startHarness(t);
    for (const type of ['MX', 'TXT', 'SRV', 'PTR', 'NS', 'SOA', 'SVCB', 'HTTPS', 'AXFR', 'ANY'] as const) {
      for (const name of ['api.example.com', 'denied.example']) {
        const packet = await ask(door.port, named(name, type));
        t.match(read(packet), { rcode: 0, answers: [], authorities: [{ type: 'SOA', name, ttl: 5, data: { minimum: 5 } }] }, `${type} ${name}`);
        t.equal(packet?.readUInt16BE(packet.indexOf(0, 12) + 1), typeNumbers[type], 'the question is repeated');
      }
    }
    t.match(read(await ask(door.port, rawQuery({ labels: [] }))), { rcode: 0, answers: [] }, 'the root');
    t.same([resolved, rows], [[], []]);
  });
}

t.test('what cannot be a host does not exist and is not looked at further', async (t) => {
  const { door, rows, resolved } = await startHarness(t);
  const cases = [['a\0b', 'wild', 'example'], ['a.b', 'wild', 'example'], ['api.example', 'com'], ['é', 'wild', 'example'], ['a b', 'wild', 'example'], ['127', '0', '0', '1'], ['127', '1'], ['0x7f', '0x1'], ['a%2e', 'wild', 'example']];
  for (const labels of cases) t.match(read(await askUdp(door.port, rawQuery({ labels }))), { rcode: 3, answers: [], authorities: [{ type: 'SOA' }] }, labels.join('|'));
  t.same([resolved, rows], [[], []]);
});

t.test('one address that must not be connected to refuses all: synthetic, with the row of the lookup', async (t) => {
  for (const bad of ['10.0.0.1', '198.18.0.9']) {
    const { door, rows, addresses } = await startHarness(t, { resolve: () => Promise.resolve({ rcode: 'NOERROR', addresses: ['93.184.216.34', bad], ttlSeconds: 9 }) });
    const [address] = addressesIn(await askUdp(door.port, named('api.example.com')));
    t.equal(addresses.nameOf(workspaceId, String(address)), 'api.example.com');
    t.match(rows, [{ decision: 'allow', detail: { failure: 'address_refused', addresses: ['93.184.216.34', bad] } }]);
  }
});

t.test('names of inner networks are not resolved whatever a policy says', async (t) => {
  const { door, resolved, addresses } = await startHarness(t, { neverResolved: ['example', 'internal'] });
  const [address] = addressesIn(await askUdp(door.port, named('x.wild.example')));
  t.ok(addresses.owns(String(address)));
  t.same(resolved, []);
});

t.test('upstream: NXDOMAIN, no address, failures', async (t) => {
  const outcomes = [
    { resolve: () => Promise.resolve({ rcode: 'NXDOMAIN', addresses: [], ttlSeconds: 0 } as const), rcode: 3, detail: { rcode: 'NXDOMAIN' } },
    { resolve: () => Promise.resolve({ rcode: 'NOERROR', addresses: [], ttlSeconds: 0 } as const), rcode: 0, detail: { rcode: 'NOERROR' } },
    { resolve: () => Promise.reject(new ResolveError('timeout')), rcode: 2, detail: { rcode: 'SERVFAIL', failure: 'timeout' } },
    { resolve: () => Promise.reject(new Error('defect')), rcode: 2, detail: { rcode: 'SERVFAIL', failure: 'internal_error' }, faults: 1 },
  ];
  for (const { resolve, rcode, detail, faults: expected = 0 } of outcomes) {
    const { door, rows, faults } = await startHarness(t, { resolve });
    t.match(read(await askUdp(door.port, named('api.example.com'))), { rcode, answers: [] });
    t.match(rows, [{ decision: 'allow', detail }]);
    t.equal(faults.length, expected);
  }
});

t.test('a row that is not written makes the lookup undecided', async (t) => {
  const { door, faults } = await startHarness(t, { record: () => Promise.reject(new Error('journal full')) });
  t.match(read(await askUdp(door.port, named('api.example.com'))), { rcode: 2, answers: [] });
  t.match(faults, [{ message: 'journal full' }]);
});

t.test('clients: unknown is REFUSED, one that cannot be looked up SERVFAIL; addresses come plain', async (t) => {
  const seen: string[] = [];
  const unknown = await startHarness(t, {
    workspaceOf: (address) => {
      seen.push(address);
      return Promise.resolve(undefined);
    },
  });
  const query = named('api.example.com');
  const refused = await askUdp(unknown.door.port, query);
  t.match(read(refused), { rcode: 5, answers: [], questions: [{ name: 'api.example.com' }] });
  t.ok((refused?.length ?? 0) <= query.length, 'not longer than the query');
  t.match(read((await askTcp(unknown.door.port, query))[0]), { rcode: 5 });
  t.same(seen, ['127.0.0.1', '127.0.0.1']);
  t.same(unknown.resolved, []);
  const broken = await startHarness(t, { workspaceOf: () => Promise.reject(new Error('away')) });
  t.match(read(await askUdp(broken.door.port, query)), { rcode: 2 });
  t.match(broken.faults, [{ message: 'away' }]);
});

t.test('no policy and a broken one deny; a workspace that reports resolves and says so', async (t) => {
  for (const [policy, reason] of [[undefined, 'no_policy'], ['broken', 'policy_error']] as const) {
    const enforced = await startHarness(t, { client: { policy } });
    t.ok(enforced.addresses.owns(String(addressesIn(await askUdp(enforced.door.port, named('api.example.com')))[0])));
    t.same(enforced.rows, []);
    const reported = await startHarness(t, { client: { policy, enforcement: 'report' } });
    t.same(addressesIn(await askUdp(reported.door.port, named('api.example.com'))), ['93.184.216.34']);
    t.match(reported.rows, [{ decision: 'allow', detail: { would_deny: reason } }]);
  }
  const harness = await startHarness(t, { client: { enforcement: 'report' }, syntheticIpv6: false });
  t.same(addressesIn(await askUdp(harness.door.port, named('other.example'))), ['93.184.216.34']);
  await askUdp(harness.door.port, named('api.example.com'));
  t.match(harness.rows.map(({ detail }) => detail?.['would_deny']), ['no_match', undefined]);
});

t.test('without IPv6 towards us, denied names have none', async (t) => {
  const { door } = await startHarness(t, { syntheticIpv6: false });
  t.match(read(await askUdp(door.port, named('denied.example', 'AAAA'))), { rcode: 0, answers: [], authorities: [{ type: 'SOA' }] });
});
