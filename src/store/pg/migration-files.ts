import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

export type MigrationFile = { readonly number: number; readonly name: string; readonly text: string; readonly checksum: string };

/** The migrations on disk and those in the database do not fit together. The message says which file and why. */
export class MigrationError extends Error {
  constructor(message: string, cause?: unknown) {
    super(`migration: ${message}`, { cause });
    this.name = 'MigrationError';
  }
}

/** Reads `001_name.sql`, `002_…` in order. Throws MigrationError for any other name, a gap or a number used twice. */
export async function readMigrations(dir: string): Promise<MigrationFile[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.sql')).sort();
  if (names.length === 0) throw new MigrationError(`no .sql file in ${dir}`);
  return Promise.all(names.map(async (name, index) => {
    const match = /^(\d{3})_[a-z0-9_]+\.sql$/.exec(name);
    if (match === null) throw new MigrationError(`${name}: a file is named like 001_what_it_does.sql`);
    const number = Number(match[1]);
    if (number !== index + 1) throw new MigrationError(`${name}: expected number ${String(index + 1).padStart(3, '0')}, numbers have no gap and are used once`);
    const text = await readFile(join(dir, name), 'utf8');
    return { number, name, text, checksum: createHash('sha256').update(text).digest('hex') };
  }));
}
