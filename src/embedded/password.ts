import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The password of the service that keeps its data in `dataDir`: made once, kept in a file only we can read. The services listen
 * on loopback, which every user of the machine can reach.
 */
export async function ensurePassword(dataDir: string): Promise<string> {
  const file = join(dataDir, 'password');
  const known = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (known.trim() !== '') return known.trim();
  const password = randomBytes(24).toString('base64url');
  // Written aside and renamed: a crash in between must not leave an empty password behind.
  await writeFile(`${file}.new`, `${password}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return password;
}
