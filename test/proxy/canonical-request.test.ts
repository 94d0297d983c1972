import fc from 'fast-check';
import t from 'tap';
import { canonicalRequest } from '../../src/proxy/canonical-request.ts';
import type { WireRequest } from '../../src/proxy/canonical-request.ts';
import { decodeQuery, pathRefusal } from '../../src/kernel/raw-target.ts';
import type { DoorContext } from '../../src/proxy/contract.ts';

const plain: DoorContext = { door: 'plain' };
const tunnel: DoorContext = { door: 'tunnel', host: 'a.example', port: 443, sni: 'a.example', connectHeaders: [] };

function wire(target: string, headers: readonly string[] = ['Host', 'a.example'], method = 'GET', httpVersion = '1.1'): WireRequest {
  return { method, target, rawHeaders: headers, httpVersion };
}

t.test('absolute form through the plain door', async (t) => {
  t.match(canonicalRequest(wire('http://A.Example.:80/v1/x?q=1&q=2', ['Host', 'a.example']), plain), { scheme: 'http', host: 'a.example', port: 80, path: '/v1/x', rawQuery: 'q=1&q=2', body: 'none' });
  t.match(canonicalRequest(wire('http://a.example', ['Host', 'a.example:80']), plain), { path: '/', rawQuery: '' });
  t.match(canonicalRequest(wire('http://[::1]:8080/?', ['Host', '[0::1]:8080']), plain), { host: '::1', port: 8080 });
});

t.test('origin form inside a tunnel, and absolute form that says the same', async (t) => {
  t.match(canonicalRequest(wire('/v1?x'), tunnel), { scheme: 'https', host: 'a.example', port: 443, path: '/v1', rawQuery: 'x' });
  t.match(canonicalRequest(wire('https://a.example/v1'), tunnel), { path: '/v1' });
  t.match(canonicalRequest(wire('/v1'), { ...tunnel, sni: undefined }), { host: 'a.example' });
});

const refusals: readonly (readonly [refused: string, wire: WireRequest, door?: DoorContext])[] = [
  ['http_version', wire('http://a.example/', ['Host', 'a.example'], 'GET', '1.0')],
  ['http_version', wire('http://a.example/', ['Host', 'a.example'], 'GET', '0.9')],
  ['method_trace', wire('http://a.example/', ['Host', 'a.example'], 'TRACE')],
  ['nested_connect', wire('a.example:443', ['Host', 'a.example'], 'CONNECT'), tunnel],
  ['no_host', wire('http://a.example/', [])],
  ['duplicate_host', wire('http://a.example/', ['Host', 'a.example', 'host', 'a.example'])],
  ['duplicate_authorization', wire('http://a.example/', ['Host', 'a.example', 'Authorization', 'a', 'authorization', 'b'])],
  ['duplicate_content_type', wire('http://a.example/', ['Host', 'a.example', 'Content-Type', 'a', 'Content-Type', 'b'])],
  ['host_mismatch', wire('http://a.example/', ['Host', 'b.example'])],
  ['host_mismatch', wire('http://a.example/', ['Host', 'a.example:8080'])],
  ['host_mismatch', wire('/', ['Host', 'b.example']), tunnel],
  ['host_userinfo', wire('http://a.example/', ['Host', 'x@a.example'])],
  ['sni_mismatch', wire('/'), { ...tunnel, sni: 'b.example' }],
  ['target_mismatch', wire('https://b.example/', ['Host', 'a.example']), tunnel],
  ['target_mismatch', wire('http://a.example/', ['Host', 'a.example']), tunnel],
  ['not_a_proxy_request', wire('/v1')],
  ['asterisk_target', wire('*', ['Host', 'a.example'], 'OPTIONS')],
  ['target_form', wire('ftp://a.example/')],
  ['target_form', wire('a.example:443')],
  ['target_userinfo', wire('http://allowed@evil/', ['Host', 'evil'])],
  ['target_backslash', wire('http://evil.com\\@allowed.com/', ['Host', 'evil.com'])],
  ['target_fragment', wire('http://a.example/v1#frag')],
  ['target_bytes', wire('http://a.example/v1\t')],
  ['target_bytes', wire('http://a.example/é')],
  ['target_bad_character', wire('http://ex%61mple.com/', ['Host', 'example.com'])],
  ['target_bad_ipv4', wire('http://127.1/', ['Host', '127.1'])],
  ['target_bad_port', wire('http://a.example:99999/', ['Host', 'a.example:99999'])],
  ['path_dot_segment', wire('/v1/../admin'), tunnel],
  ['path_dot_segment', wire('/v1/%2e%2E/admin'), tunnel],
  ['path_dot_segment', wire('/.%2e/'), tunnel],
  ['path_dot_segment', wire('/v1/.'), tunnel],
  ['path_dot_segment', wire('/v1/..;x=1/admin'), tunnel],
  ['path_dot_segment', wire('/v1%2f..%2fadmin'), tunnel],
  ['path_dot_segment', wire('/v1/%5c..%5cadmin'), tunnel],
  ['path_empty_segment', wire('//evil/p'), tunnel],
  ['path_empty_segment', wire('/v1//admin'), tunnel],
  ['path_nul', wire('/a%00b'), tunnel],
  ['path_escape', wire('/a%zz'), tunnel],
  ['path_escape', wire('/a%2'), tunnel],
  ['path_utf8', wire('/%c0%ae%c0%ae/'), tunnel],
  ['query_escape', wire('/?a=%'), tunnel],
  ['query_nul', wire('/?a=%00'), tunnel],
  ['query_utf8', wire('/?a=%ff'), tunnel],
  ['body_framing', wire('/', ['Host', 'a.example', 'Transfer-Encoding', 'gzip, chunked'], 'POST'), tunnel],
  ['body_framing', wire('/', ['Host', 'a.example', 'Transfer-Encoding', 'chunked', 'Content-Length', '3'], 'POST'), tunnel],
  ['body_framing', wire('/', ['Host', 'a.example', 'Content-Length', '+3'], 'POST'), tunnel],
  ['duplicate_content_length', wire('/', ['Host', 'a.example', 'Content-Length', '3', 'Content-Length', '4'], 'POST'), tunnel],
  ['duplicate_transfer_encoding', wire('/', ['Host', 'a.example', 'Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked'], 'POST'), tunnel],
  ['body_on_bodyless_method', wire('/', ['Host', 'a.example', 'Content-Length', '3'], 'GET'), tunnel],
  ['expectation', wire('/', ['Host', 'a.example', 'Expect', '200-ok'], 'POST'), tunnel],
  ['upgrade_protocol', wire('/', ['Host', 'a.example', 'Connection', 'Upgrade, HTTP2-Settings', 'Upgrade', 'h2c']), tunnel],
  ['upgrade_with_body', wire('/', ['Host', 'a.example', 'Connection', 'upgrade', 'Upgrade', 'websocket', 'Content-Length', '3'], 'POST'), tunnel],
];
for (const [refused, request, door = plain] of refusals) {
  t.test(`refused ${refused}: ${request.method} ${JSON.stringify(request.target)}`, async (t) => { t.match(canonicalRequest(request, door), { refused }); });
}

t.test('https spoken in clear is no_scheme', async (t) => {
  t.strictSame(canonicalRequest(wire('https://a.example/'), plain), { reason: 'no_scheme' });
});

t.test('kept as they are: encoded slashes, double encodings, dots inside of names, duplicate parameters', async (t) => {
  for (const target of ['/a%2Fb', '/%252e%252e%252f', '/...', '/.well-known/x', '/a;b=1', '/v1/%E2%82%AC', "/a|b{c}'!$&()*+,=:@"]) t.match(canonicalRequest(wire(target), tunnel), { path: target }, target);
  t.strictSame([...decodeQuery('a=1&a=2&b[]=%20x+y&c&=d&&e=f=g;h')], [['a', ['1', '2']], ['b[]', [' x y']], ['c', ['']], ['', ['d']], ['e', ['f=g;h']]]);
});

t.test('headers of this hop, and those that route around the decision, go no further', async (t) => {
  const headers = [
    'Host', 'a.example', 'Proxy-Authorization', 'Bearer t', 'X-Capability-Token', 't', 'Proxy_Authorization', 'x', 'Connection', 'close, X-Named', 'X-Named', '1',
    'X-Original-URL', '/admin', 'TE', 'trailers', 'X-Kept', 'a', 'x-kept', 'b', 'Content-Length', '3',
  ];
  const canonical = canonicalRequest(wire('/', headers, 'POST'), tunnel);
  t.match(canonical, { headers: [['X-Kept', 'a'], ['x-kept', 'b']], body: { length: 3 } });
  if ('headerMap' in canonical) t.strictSame([...canonical.headerMap], [['x-kept', 'a,b']]);
});

t.test('a path that is not refused has no way up, whatever is decoded', async () => {
  const piece = fc.constantFrom('/', '.', '..', '%2e', '%2E', '%2f', '%5C', ';', 'a', '%252e', '*');
  fc.assert(fc.property(fc.array(piece, { maxLength: 8 }), (parts) => {
    const path = `/${parts.join('')}`;
    if (pathRefusal(path) !== undefined) return true;
    const decoded = decodeURIComponent(path).replaceAll('\\', '/').split('/');
    return !decoded.includes('..') && !decoded.includes('.');
  }), { numRuns: 20_000 });
});
