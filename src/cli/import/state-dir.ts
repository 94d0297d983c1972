import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** Name of an import that was given none: of its file, in the characters a directory and a producer may have. */
export function defaultName(file: string): string {
  if (file === '-') return 'stdin';
  const plain = basename(file).toLowerCase().replace(/\.(ndjson|jsonl|json)$/, '').replace(/[^a-z0-9._-]+/g, '-').replace(/^[.-]+|[.-]+$/g, '').slice(0, 64);
  return plain === '' ? 'import' : plain;
}

export function isName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text);
}

/**
 * The directory of one import by name, and its producer. The producer gets a random ending, kept in the directory: batches are numbered
 * per producer, and two machines may import files of the same name.
 */
export async function openStateDir(dataDir: string, name: string): Promise<{ dir: string; producer: string }> {
  const dir = join(dataDir, 'import', name);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, 'producer');
  try {
    return { dir, producer: (await readFile(path, 'utf8')).trim() };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const producer = `import:${name}-${randomBytes(3).toString('hex')}`;
  await writeFile(`${path}.tmp`, `${producer}\n`);
  await rename(`${path}.tmp`, path);
  return { dir, producer };
}
