import t from 'tap';
import type { Attack } from './raw-request.ts';
import { repelled } from './raw-request.ts';

const get = (target: string, headers = ''): string => `GET ${target} HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n${headers}\r\n`;
const refused = (slug: string | RegExp): object => ({ reason: 'no_match', detail: { refused: slug } });
const put = (body: string, headers = 'Content-Type: application/json\r\n'): string => `PUT http://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n${headers}Content-Length: ${Buffer.byteLength(body, 'latin1')}\r\n\r\n${body}`;
const connect = (target: string): string => `CONNECT ${target} HTTP/1.1\r\nAUTH\r\n\r\n`;

const destination: readonly Attack[] = [
  { name: '6 URI host and Host differ', send: 'GET http://HOST/v1/x HTTP/1.1\r\nHost: other.example.com\r\nAUTH\r\n\r\n', row: refused('host_mismatch') },
  { name: '7 https in clear', send: 'GET https://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n\r\n', row: { reason: 'no_scheme' } },
  { name: '8 two Hosts', send: 'GET http://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nHost: other.example.com\r\nAUTH\r\n\r\n', row: refused('duplicate_host') },
  { name: '9 no Host', send: 'GET http://HOST/v1/x HTTP/1.1\r\nAUTH\r\n\r\n', row: refused('no_host') },
  { name: '9 HTTP/1.0', send: 'GET http://HOST/v1/x HTTP/1.0\r\nHost: HOST\r\nAUTH\r\n\r\n', row: refused('http_version'), status: /^HTTP\/1\.\d 505 / },
  { name: '9 HTTP/1.9', send: 'GET http://HOST/v1/x HTTP/1.9\r\nHost: HOST\r\nAUTH\r\n\r\n', row: refused('malformed_request') },
  { name: '11 another port', send: 'GET http://api.example.com:5432/v1/x HTTP/1.1\r\nHost: api.example.com:5432\r\nAUTH\r\n\r\n', row: { reason: 'no_match', detail: { allowrule_eval: [{ failed: 'port' }, { failed: 'port' }] } } },
  { name: '14 CONNECT to an address no rule names', send: connect('93.184.216.34:443'), row: { reason: 'no_match', method: 'CONNECT' } },
  { name: '15 bytes that are no TLS', send: `${connect('api.example.com:443')}SSH-2.0-x\r\n`, status: /^HTTP\/1\.1 200 /, row: refused('tls_handshake') },
];

const spelling: readonly Attack[] = [
  { name: '17 a double trailing dot', send: 'GET http://api.example.com..:PORT/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n\r\n', row: refused('target_empty_label') },
  { name: '19 NUL in CONNECT', send: connect('attacker.example\0.api.example.com:443'), row: { reason: 'no_match' } },
  { name: '20 percent-encoded host', send: 'GET http://ap%69.example.com:PORT/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n\r\n', row: refused('target_bad_character') },
  { name: '21 full-width digits', send: `${connect(Buffer.from('１２７.0.0.1:443').toString('latin1'))}`, row: { reason: 'no_match' } },
  { name: '22 a U-label', send: connect(Buffer.from('exämple.com:443').toString('latin1')), row: { reason: 'no_match' } },
  { name: '23 userinfo in CONNECT', send: connect('u@api.example.com:443'), row: refused('target_userinfo') },
  { name: '23 userinfo in a target', send: 'GET http://HOST@evil.example.com/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n\r\n', row: refused('target_userinfo') },
  { name: '24 a backslash', send: 'GET http://evil.example.com\\@HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n\r\n', row: { reason: 'no_match' } },
  { name: '25 a tab in the host', send: 'GET http://api.exa\tmple.com/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n\r\n', row: { reason: 'no_match' } },
  { name: '27 a suffix', send: connect('evilapi.example.com:443'), row: { reason: 'no_match' } },
  { name: '27 a prefix', send: connect('api.example.com.evil.com:443'), row: { reason: 'no_match' } },
  ...['127.1', '0x7f.1', '2130706433', '017700000001', '0177.0.0.1', '[::ffff:7f00:1%25lo]'].map((host): Attack => ({ name: `32 ${host}`, send: connect(`${host}:443`), row: refused(/^target_(?:bad_ipv[46])$/) })),
];

const addresses: readonly Attack[] = ['169.254.169.254', '[fd00:ec2::254]', '[::ffff:a9fe:a9fe]', '100.100.100.200', '168.63.129.16', '127.0.0.1', '10.0.0.1', '100.64.0.1', '0.0.0.0', '224.0.0.1', '255.255.255.255'].map((host): Attack => ({
  name: `33-36 a name that resolves to ${host}`,
  send: 'GET http://internal.example.com/v1/x HTTP/1.1\r\nHost: internal.example.com\r\nAUTH\r\n\r\n',
  status: /^HTTP\/1\.1 403 /,
  row: refused('address_refused'),
  caps: () => '- name: demo\n  type: http\n  allow: [{domains: [internal.example.com], methods: [GET], allow_insecure: true}]\n',
  options: { env: { PROXY_ALLOW_PRIVATE_UPSTREAMS: '' }, lookup: async () => [{ address: '93.184.216.34' }, { address: host.replace(/^\[(.*)\]$/, '$1') }] },
}));

const framing: readonly Attack[] = [
  { name: '52 length and chunked', send: 'POST http://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', row: refused('malformed_request') },
  { name: '52 two lengths', send: 'POST http://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd', row: refused('malformed_request') },
  ...['+3', '0x3', '-1', '3, 3'].map((length): Attack => ({ name: `52 length ${length}`, send: `POST http://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\nContent-Length: ${length}\r\n\r\nabc`, row: { reason: 'no_match' } })),
  ...['gzip, chunked', 'chunked, identity', 'xchunked', 'chunked\r\nTransfer-Encoding: chunked', '\x0bchunked'].map((coding): Attack => ({ name: `53 ${JSON.stringify(coding)}`, send: `POST http://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\nTransfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`, row: { reason: 'no_match' } })),
  ...['Host : HOST', 'X: a\r\n folded', 'X: a\nY: b', 'X: a\rY: b', 'X: a\0b'].map((header): Attack => ({ name: `55 ${JSON.stringify(header)}`, send: `GET http://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n${header}\r\n\r\n`, row: { reason: 'no_match' } })),
  { name: '57 a GET with a body', send: `GET http://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\nContent-Length: 5\r\n\r\nhello`, row: refused('body_on_bodyless_method') },
  { name: '59 an odd Expect', send: get('http://HOST/v1/x', 'Expect: tea\r\n'), row: refused('expectation'), status: /^HTTP\/1\.1 417 / },
  { name: '82 TRACE', send: 'TRACE http://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n\r\n', row: refused('method_trace'), status: /^HTTP\/1\.1 405 / },
  { name: '98 the preface of HTTP/2', send: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', row: refused('malformed_request') },
  { name: '98 h2c', send: get('http://HOST/v1/x', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'), row: refused('upgrade_protocol') },
  { name: '109 an upgrade with a body', send: 'POST http://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc', row: refused('upgrade_with_body') },
];

const paths: readonly Attack[] = [
  ...['/v1/../admin', '/v1/%2e%2e/admin', '/v1/.%2e/admin', '/v1/..%2fadmin', '/v1/..;/admin'].map((path): Attack => ({ name: `64 ${path}`, send: get(`http://HOST${path}`), row: refused('path_dot_segment') })),
  ...['//v1/x', '/v1//admin'].map((path): Attack => ({ name: `65 ${path}`, send: get(`http://HOST${path}`), row: refused('path_empty_segment') })),
  { name: '69 a fragment', send: get('http://HOST/v1/x#/../admin'), row: refused('target_fragment') },
  { name: '71 %00', send: get('http://HOST/v1/x%00.txt'), row: refused('path_nul') },
  { name: '71 overlong UTF-8', send: get('http://HOST/v1/%c0%ae%c0%ae/admin'), row: refused('path_utf8') },
  { name: '72 a bad escape in the query', send: get('http://HOST/v1/x?a=%zz'), row: refused('query_escape') },
  { name: '2 asterisk form', send: 'OPTIONS * HTTP/1.1\r\nHost: HOST\r\nAUTH\r\n\r\n', row: refused('asterisk_target') },
];

const bodies: readonly Attack[] = [
  { name: '87 a compressed body', send: put('{"model":"small"}', 'Content-Type: application/json\r\nContent-Encoding: gzip\r\n'), row: { reason: 'format_mismatch' } },
  ...['text/plain', 'application/json; charset=utf-16', 'application/vnd.x+json', ''].map((type): Attack => ({ name: `88 ${type === '' ? 'no type' : type}`, send: put('{"model":"small"}', type === '' ? '' : `Content-Type: ${type}\r\n`), row: { reason: 'format_mismatch', phase: 'request_body' } })),
  { name: '88 two types', send: put('{"model":"small"}', 'Content-Type: application/json\r\nContent-Type: text/plain\r\n'), row: refused('duplicate_content_type') },
  ...['{"model":"small","model":"large"}', '{"model":"small","x":"\\ud800"}', '\xef\xbb\xbf{"model":"small"}', '{"model":"small","x":"\xff"}', '{"model":"small"} x', '{"model":"small","x":NaN}', `{"model":"small","x":${'['.repeat(500)}${']'.repeat(500)}}`].map((body): Attack => ({ name: `89-92 ${JSON.stringify(body.slice(0, 40))}`, send: put(body), row: { reason: /^(?:invalid_json|format_mismatch)$/, phase: 'request_body' } })),
  { name: '94 over the limit', send: put(JSON.stringify({ model: 'small', x: 'y'.repeat(3_000) })), row: { reason: 'format_mismatch', detail: { refused: 'body_too_large' } }, options: { env: { PROXY_BODY_BYTES_MAX: '2000', PROXY_ALLOW_PRIVATE_UPSTREAMS: '127.0.0.0/8' } } },
  { name: '61 a body that is cut', send: 'PUT http://HOST/v1/x HTTP/1.1\r\nHost: HOST\r\nAUTH\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"mod\r\nzz\r\n', status: /^(?:HTTP\/1\.1 4|$)/, row: refused('incomplete_request') },
];

for (const [section, list] of Object.entries({ 'A destination': destination, 'B spelling': spelling, 'C addresses': addresses, 'E framing, G methods, I protocols': framing, 'F paths and queries': paths, 'H bodies': bodies })) {
  t.test(section, async (t) => {
    for (const attack of list) await repelled(t, attack);
  });
}
