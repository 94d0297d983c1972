import t from 'tap';
import { isForbidden, isPublicAddress } from '../../../src/proxy/upstream/address-guard.ts';
import { readAddress, readRange } from '../../../src/proxy/upstream/address.ts';

/** First and last address of a range, and their neighbours outside; `undefined` where the neighbour is itself special or there is none. */
const borders4: readonly (readonly [before: string | undefined, first: string, last: string, after: string | undefined])[] = [
  [undefined, '0.0.0.0', '0.255.255.255', '1.0.0.0'],
  ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
  ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
  ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
  ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
  ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
  ['191.255.255.255', '192.0.0.0', '192.0.0.255', '192.0.1.0'],
  ['192.0.1.255', '192.0.2.0', '192.0.2.255', '192.0.3.0'],
  ['192.88.98.255', '192.88.99.0', '192.88.99.255', '192.88.100.0'],
  ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
  ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0'],
  ['198.51.99.255', '198.51.100.0', '198.51.100.255', '198.51.101.0'],
  ['203.0.112.255', '203.0.113.0', '203.0.113.255', '203.0.114.0'],
  ['223.255.255.255', '224.0.0.0', '239.255.255.255', undefined],
  [undefined, '240.0.0.0', '255.255.255.255', undefined],
  ['168.63.129.15', '168.63.129.16', '168.63.129.16', '168.63.129.17'],
];

const borders6: typeof borders4 = [
  [undefined, '::', '::', undefined],
  [undefined, '::1', '::1', undefined],
  [undefined, '::2', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2000::'],
  ['2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
  ['2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db9::'],
  ['3ffd:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe::', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined],
  [undefined, '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::'],
  ['3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined],
  [undefined, '5f00::', '5f00:ffff::', undefined],
  [undefined, 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined],
  [undefined, 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined],
  [undefined, 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined],
  [undefined, 'ff00::', 'ff02::1', undefined],
  [undefined, '100::', '100::ffff:ffff:ffff:ffff', undefined],
];

t.test('every special range ends where it should, and not before', async (t) => {
  for (const [before, first, last, after] of [...borders4, ...borders6]) {
    for (const inside of [first, last]) t.notOk(isPublicAddress(inside), inside);
    for (const outside of [before, after]) if (outside !== undefined) t.ok(isPublicAddress(outside), outside);
  }
});

t.test('an IPv4 address is judged alike in every IPv6 form that leads to it', async (t) => {
  const hex = (ip: string): string => {
    const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  };
  for (const [before, first, last, after] of borders4) {
    for (const [ip, isPublic] of [[before, true], [first, false], [last, false], [after, true]] as const) {
      if (ip === undefined) continue;
      for (const form of [`::ffff:${ip}`, `::FFFF:${hex(ip)}`, `0:0:0:0:0:ffff:${ip}`, `64:ff9b::${ip}`, `64:ff9b::${hex(ip)}`, `2002:${hex(ip)}::`, `2002:${hex(ip)}:1::5`]) {
        t.equal(isPublicAddress(form), isPublic, form);
      }
      for (const form of [`::${ip}`, `64:ff9b:1::${ip}`, `2001:0:${hex(ip)}::`]) t.notOk(isPublicAddress(form), form);
    }
  }
});

t.test('metadata services and link-local stay refused whatever is opted out', async (t) => {
  const never = [
    '169.254.169.254', '169.254.170.2', '168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:42::42',
    '::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '64:ff9b::a9fe:a9fe', '64:ff9b:1::a9fe:a9fe', '2002:a9fe:a9fe::', '::169.254.169.254',
    // Teredo: the server in the second 32 bits, the client inverted in the last.
    '2001:0:a9fe:a9fe::', '2001:0:808:808:0:0:5601:5601',
    '0.0.0.0', '0.0.0.1', '::', '224.0.0.1', '255.255.255.255', 'ff02::1', 'fe80::1',
  ];
  for (const text of never) {
    const address = readAddress(text);
    t.ok(address !== undefined && isForbidden(address), text);
  }
  for (const text of ['127.0.0.1', '10.0.0.1', '::1', 'fd00::1', '192.168.1.1', '8.8.8.8', '2606:4700::1111', '240.0.0.1', '100.100.100.201']) {
    const address = readAddress(text);
    t.ok(address !== undefined && !isForbidden(address), text);
  }
});

t.test('what is no address in plain form is not public', async (t) => {
  const texts = ['', '1.1.1', '127.1', '0x8.8.8.8', '134744072', '08.8.8.8', '8.8.8.8.', ' 8.8.8.8', '8.8.8.8 ', '8.8.8.256', '[2606:4700::1]', 'fe80::1%eth0', '2606:4700::1%0', '2606::4700::1', 'g::1', 'example.com', '8.8.8.8/32', '８.8.8.8', '::ffff:8.8.8', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9'];
  for (const text of texts) t.notOk(isPublicAddress(text), text);
  for (const text of ['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '2606:4700:4700:0:0:0:0:1111', '2A00:1450:4001:81B::200E']) t.ok(isPublicAddress(text), text);
});

t.test('an address is dialled in one text; a mapped one as IPv4', async (t) => {
  for (const [text, dialled] of [['::ffff:8.8.4.4', '8.8.4.4'], ['::FFFF:808:404', '8.8.4.4'], ['2606:4700:0:0::1', '2606:4700::1'], ['9.9.9.9', '9.9.9.9']] as const) t.equal(readAddress(text)?.text, dialled);
});

t.test('networks: prefix of the family, host bits ignored, anything else refused', async (t) => {
  t.match(readRange('10.1.2.3/8'), { family: 4, first: 0x0a000000n, last: 0x0affffffn });
  t.match(readRange('0.0.0.0/0'), { first: 0n, last: 0xffffffffn });
  t.match(readRange('fd00::/8'), { family: 6, first: 0xfdn << 120n });
  t.match(readRange('::1'), { first: 1n, last: 1n });
  for (const text of ['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/08', '10.0.0.0/-1', '10.0.0/8', '::/129', '10.0.0.0/8/8', 'example.com/8', '/8', '']) t.equal(readRange(text), undefined, text);
});
