import t from 'tap';
import { wellKnownAnswer, wellKnownCaUrl, wellKnownHost } from '../../../src/proxy/tls/well-known.ts';
import { authorityIn } from './tls-rig.ts';

t.test('the certificate, for GET and HEAD of one path', async (t) => {
  const authority = await authorityIn(t);
  t.equal(wellKnownCaUrl, `http://${wellKnownHost}/ca.pem`);
  for (const method of ['GET', 'HEAD']) {
    const { status, headers, body } = wellKnownAnswer(authority, method, '/ca.pem');
    t.equal(status, 200);
    t.equal(body, authority.certificatePem);
    t.equal(new Map(headers).get('content-length'), String(body.length));
    t.equal(new Map(headers).get('content-type'), 'application/x-pem-file');
    t.equal(new Map(headers).get('etag'), `"${authority.fingerprint.replaceAll(':', '').toLowerCase()}"`);
  }
  t.equal(wellKnownAnswer(authority, 'POST', '/ca.pem').status, 405);
  t.equal(new Map(wellKnownAnswer(authority, 'POST', '/ca.pem').headers).get('allow'), 'GET, HEAD');
  for (const path of ['/', '/CA.pem', '/ca.pem/', '/ca-key.pem', '/../ca-key.pem']) {
    const { status, body } = wellKnownAnswer(authority, 'GET', path);
    t.equal(status, 404, path);
    t.notMatch(body, /BEGIN/);
  }
});
