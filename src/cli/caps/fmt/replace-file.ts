import { randomBytes } from 'node:crypto';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { reasonOf } from '../source-file.ts';
import { UsageError } from '../usage.ts';

/** Writes a file anew so that it is there whole, before or after: beside it, then renamed. Its mode stays; a link stays a link. Throws UsageError. */
export async function replaceFile(name: string, text: string): Promise<void> {
  try {
    const path = await realpath(name);
    const { mode } = await stat(path);
    await writeBeside(path, text, mode & 0o7777);
  } catch (error) {
    throw new UsageError(`${name}: ${reasonOf(error)}`, { cause: error });
  }
}

async function writeBeside(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  // Never onto a file of that name that is there, nor through a link.
  const file = await open(temporary, 'wx', 0o600);
  try {
    try {
      await file.writeFile(text);
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
