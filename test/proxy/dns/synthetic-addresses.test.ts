import { isIP } from 'node:net';
import fc from 'fast-check';
import t from 'tap';
import { createSyntheticAddresses, syntheticDefaults } from '../../../src/proxy/dns/synthetic-addresses.ts';

const small = { ...syntheticDefaults, ipv4: { first: '198.18.0.0', prefixBits: 28 }, namesPerWorkspaceMax: 4, workspacesMax: 2 };

t.test('one address a name, both ways, in its workspace', (t) => {
  const addresses = createSyntheticAddresses();
  t.equal(addresses.addressOf('w1', 'a.example', 'A'), '198.18.0.1');
  t.equal(addresses.addressOf('w1', 'a.example', 'AAAA'), 'fdc8:5c1f:9e3a:d15::1');
  t.equal(addresses.addressOf('w1', 'b.example', 'A'), '198.18.0.2');
  t.equal(addresses.addressOf('w1', 'a.example', 'A'), '198.18.0.1');
  t.equal(addresses.addressOf('w2', 'c.example', 'A'), '198.18.0.1', 'another workspace has its own');
  for (const [workspace, address, name] of [
    ['w1', '198.18.0.1', 'a.example'], ['w1', '::ffff:198.18.0.1', 'a.example'], ['w1', 'fdc8:5c1f:9e3a:d15:0:0:0:1', 'a.example'], ['w1', 'FDC8:5C1F:9E3A:D15::2', 'b.example'],
    ['w2', '198.18.0.1', 'c.example'], ['w2', '198.18.0.2', undefined], ['w3', '198.18.0.1', undefined], ['w1', '198.17.0.1', undefined], ['w1', 'fdc8:5c1f:9e3a:d15:1::1', undefined],
    ['w1', 'fdc8:5c1f:9e3a:d15:0:1:0:1', undefined], ['w1', 'fdc8:5c1f:9e3a:d15::', undefined], ['w1', '198.18.0.0', undefined], ['w1', 'not an address', undefined], ['w1', '', undefined],
  ] as const) t.equal(addresses.nameOf(workspace, address), name, `${workspace} ${address}`);
  for (const address of ['198.18.0.0', '198.19.255.255', '::ffff:198.18.7.7', 'fdc8:5c1f:9e3a:d15:ffff::1']) t.ok(addresses.owns(address), address);
  for (const address of ['198.17.255.255', '198.20.0.0', 'fdc8:5c1f:9e3a:d16::1', '::', 'x']) t.notOk(addresses.owns(address), address);
  addresses.forget('w1');
  t.equal(addresses.nameOf('w1', '198.18.0.1'), undefined);
  t.equal(addresses.names, 1);
  t.end();
});

t.test('what is not used goes first, and its address does not come back soon', (t) => {
  const addresses = createSyntheticAddresses(small);
  for (const name of ['a', 'b', 'c', 'd']) addresses.addressOf('w', name, 'A');
  addresses.nameOf('w', '198.18.0.1');
  t.equal(addresses.addressOf('w', 'e', 'A'), '198.18.0.5');
  t.equal(addresses.nameOf('w', '198.18.0.2'), undefined, 'b went');
  t.equal(addresses.nameOf('w', '198.18.0.1'), 'a', 'a was used');
  for (let round = 0; round < 40; round += 1) {
    addresses.nameOf('w', '198.18.0.1');
    t.not(addresses.addressOf('w', `n${round}`, 'A'), '198.18.0.1');
  }
  t.equal(addresses.addressOf('w', 'a', 'A'), '198.18.0.1', 'stable while in use, however often the pool went round');
  t.equal(addresses.names, 4);
  for (const workspace of ['x', 'y', 'z']) addresses.addressOf(workspace, 'n', 'A');
  t.equal(addresses.names, 2, 'workspaces are bounded as well');
  t.throws(() => createSyntheticAddresses({ ...small, namesPerWorkspaceMax: 14 }), /cannot hold/);
  t.throws(() => createSyntheticAddresses({ ...small, ipv6First: 'fd00::' }), /four groups/);
  t.end();
});

t.test('after any use: names and addresses are one to one, inside the pool, and bounded', (t) => {
  const step = fc.record({ workspace: fc.constantFrom('v', 'w'), name: fc.integer({ min: 0, max: 30 }).map((n) => `n${n}`), type: fc.constantFrom('A' as const, 'AAAA' as const) });
  fc.assert(fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
    const addresses = createSyntheticAddresses(small);
    const known = new Map<string, string>();
    for (const { workspace, name, type } of steps) {
      const address = addresses.addressOf(workspace, name, type);
      known.set(`${workspace} ${address}`, name);
      if (isIP(address) === 0 || !addresses.owns(address) || addresses.nameOf(workspace, address) !== name || addresses.names > 8) return false;
    }
    // An address never tells another name than the last it was given for.
    return [...known].every(([key, name]) => {
      const [workspace = '', address = ''] = key.split(' ');
      const now = addresses.nameOf(workspace, address);
      return now === undefined || now === name || steps.some((one) => one.name === now && one.workspace === workspace);
    });
  }));
  t.end();
});
