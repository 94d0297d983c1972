import fc from 'fast-check';
import t from 'tap';
import { readAuthority, readHost, writeAuthority } from '../../src/kernel/host.ts';

const accepted: readonly (readonly [text: string, kind: string, host: string])[] = [
  ['API.Example.COM', 'name', 'api.example.com'],
  ['api.example.com.', 'name', 'api.example.com'],
  ['xn--bcher-kva.example', 'name', 'xn--bcher-kva.example'],
  ['_srv.under_score.example', 'name', '_srv.under_score.example'],
  ['localhost', 'name', 'localhost'],
  ['127.0.0.1', 'ipv4', '127.0.0.1'],
  ['::1', 'ipv6', '::1'],
  ['0:0:0:0:0:0:0:1', 'ipv6', '::1'],
  ['2001:DB8::A', 'ipv6', '2001:db8::a'],
  ['::ffff:169.254.169.254', 'ipv6', '::ffff:a9fe:a9fe'],
];
for (const [text, kind, host] of accepted) {
  t.test(`host ${text}`, async (t) => { t.strictSame(readHost(text), { kind, text: host }); });
}

const refused: readonly (readonly [text: string, refused: string])[] = [
  ['', 'empty'], ['.', 'empty'], ['a..example', 'empty_label'], ['a.example..', 'empty_label'], ['.a.example', 'empty_label'],
  ['127.1', 'bad_ipv4'], ['0x7f.1', 'bad_ipv4'], ['2130706433', 'bad_ipv4'], ['0177.0.0.1', 'bad_ipv4'], ['1.2.3.4.5', 'bad_ipv4'], ['1.2.3.0x4', 'bad_ipv4'], ['256.1.1.1', 'bad_ipv4'],
  ['127。0。0。1', 'not_ascii'], ['①②⑦.0.0.1', 'not_ascii'], ['bücher.example', 'not_ascii'],
  ['a\u0000.example', 'bad_character'], ['ex%61mple.com', 'bad_character'], ['a b.example', 'bad_character'], ['a\t.example', 'bad_character'], ['evil.com\\.allowed.com', 'bad_character'], ['*.example.com', 'bad_character'],
  [`${'a'.repeat(64)}.example`, 'label_too_long'], [`${'a.'.repeat(127)}aa`, 'too_long'],
  ['fe80::1%eth0', 'bad_ipv6'], ['1::2::3', 'bad_ipv6'], [':', 'bad_ipv6'],
];
for (const [text, reason] of refused) {
  t.test(`no host ${JSON.stringify(text)}`, async (t) => { t.strictSame(readHost(text), { refused: reason }); });
}

t.test('authority', async (t) => {
  t.match(readAuthority('Example.com:8443'), { host: { text: 'example.com' }, port: 8443 });
  t.match(readAuthority('[::1]:8080'), { host: { kind: 'ipv6', text: '::1' }, port: 8080 });
  t.strictSame(readAuthority('[::1]'), { host: { kind: 'ipv6', text: '::1' }, port: undefined });
  for (const [text, reason] of [
    ['u@a.example:443', 'userinfo'], ['a.example:', 'bad_port'], ['a.example:0', 'bad_port'], ['a.example:65536', 'bad_port'], ['a.example:+80', 'bad_port'], ['a.example:0443', 'bad_port'],
    ['evil.com:443.allowed.com', 'bad_port'], ['a:b:c', 'bad_port'], ['::1', 'empty'], ['[::1', 'bad_ipv6'], ['[a.example]', 'bad_ipv6'], ['[::1]x', 'bad_ipv6'],
  ] as const) t.strictSame(readAuthority(text), { refused: reason }, text);
  t.equal(writeAuthority('https', 'a.example', 443), 'a.example');
  t.equal(writeAuthority('http', '::1', 443), '[::1]:443');
});

t.test('what is read once reads the same again', async () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.domain(), fc.ipV4(), fc.ipV6()), (text) => {
    const host = readHost(text);
    if ('refused' in host) return true;
    const again = readHost(host.text);
    return 'text' in again && again.text === host.text && again.kind === host.kind;
  }), { numRuns: 2_000 });
});
