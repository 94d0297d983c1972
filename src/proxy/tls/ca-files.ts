import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Far above any chain of certificates; a device or a log given by mistake is not read into memory whole. */
const fileBytesMax = 1_048_576;

async function read(path: string): Promise<string | undefined> {
  try {
    const bytes = await readFile(path);
    if (bytes.length > fileBytesMax) throw new Error(`${path}: over ${fileBytesMax} bytes, so no PEM file`);
    return bytes.toString('latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Puts a file in place whole, on the disk, and only if there is none: of several processes that start at once one succeeds. */
async function createOnce(path: string, text: string, mode: number): Promise<boolean> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    // A rename would replace the file of the process that was faster; a link fails instead.
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(temporary).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
  await syncDirectory(path);
  return true;
}

async function readOrCreate(path: string, make: () => string | Promise<string>, mode: number): Promise<{ text: string; created: boolean }> {
  const existing = await read(path);
  if (existing !== undefined) return { text: existing, created: false };
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const created = await createOnce(path, await make(), mode);
  const text = await read(path);
  if (text === undefined) throw new Error(`${path}: was removed while it was being made`);
  return { text, created };
}

export type CaFiles = {
  readonly certPath: string;
  readonly keyPath: string;
  readonly makeKey: () => string;
  readonly makeCertificate: (keyPem: string) => Promise<string>;
};

export type CaPair = { readonly certificates: string; readonly key: string; readonly created: boolean };

/**
 * Both files of the CA, made when there is neither. The key comes first and decides: a certificate is always made for the key that
 * stands in the file, so processes that start at once agree, and after a crash between the two files the next start makes the
 * certificate for the key left behind. Throws when there is a certificate without its key.
 */
export async function ensureCaFiles({ certPath, keyPath, makeKey, makeCertificate }: CaFiles): Promise<CaPair> {
  if (await read(keyPath) === undefined && await read(certPath) !== undefined && await read(keyPath) === undefined) {
    throw new Error(`CA ${certPath}: its key is missing at ${keyPath}; put it there, or remove the certificate to have a new CA made`);
  }
  const key = await readOrCreate(keyPath, makeKey, 0o600);
  const certificate = await readOrCreate(certPath, () => makeCertificate(key.text), 0o644);
  return { certificates: certificate.text, key: key.text, created: certificate.created };
}
