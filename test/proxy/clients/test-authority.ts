import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readHost } from '../../../src/kernel/host.ts';
import { loadCertificateAuthority } from '../../../src/proxy/tls/certificate-authority.ts';
import { mintLeaf } from '../../../src/proxy/tls/leaf-certificate.ts';

export type TestAuthority = {
  /** File for PROXY_UPSTREAM_CA. */
  readonly caPath: string;
  readonly certificateFor: (name: string) => Promise<{ readonly key: string; readonly cert: string }>;
};

/** An authority that has nothing to do with the proxy's own: local upstreams have their certificates from it. */
export async function testAuthority(t: { teardown(fn: () => Promise<void>): unknown }): Promise<TestAuthority> {
  const dir = await mkdtemp(join(tmpdir(), 'customhouse-upstream-ca-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const caPath = join(dir, 'ca.pem');
  const ca = await loadCertificateAuthority({ certPath: caPath, keyPath: join(dir, 'ca-key.pem'), nowMs: Date.now });
  return {
    caPath,
    async certificateFor(name) {
      const host = readHost(name);
      if ('refused' in host) throw new Error(host.refused);
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const leaf = await mintLeaf({ ...ca, leafSpki: publicKey.export({ type: 'spki', format: 'der' }) }, host, Date.now());
      return { cert: leaf.pem, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
    },
  };
}
