import { X509Certificate, randomBytes } from 'node:crypto';
import { realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';

/**
 * Writes ours, Node's roots and those of this machine into one file: most variables for a CA file replace the roots of a tool, and hosts
 * that do not go through the proxy (NO_PROXY) still need them. Whole or not at all. Answers the number of certificates.
 */
export function writeBundle(path: string, caPath: string, ours: readonly X509Certificate[]): number {
  if (isSameFile(path, caPath)) throw new Error('--bundle: this is the CA itself; give another file');
  const byFingerprint = new Map<string, string>();
  for (const certificate of ours) byFingerprint.set(certificate.fingerprint256, certificate.toString());
  for (const pem of [...getCACertificates('bundled'), ...getCACertificates('system')]) {
    const certificate = new X509Certificate(pem);
    if (!byFingerprint.has(certificate.fingerprint256)) byFingerprint.set(certificate.fingerprint256, certificate.toString());
  }
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    writeFileSync(temporary, [...byFingerprint.values()].join(''), { flag: 'wx', mode: 0o644 });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new Error(`--bundle: ${path} cannot be written (${(error as NodeJS.ErrnoException).code ?? String(error)})`, { cause: error });
  }
  return byFingerprint.size;
}

function isSameFile(path: string, other: string): boolean {
  try {
    return realpathSync(path) === realpathSync(other);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
