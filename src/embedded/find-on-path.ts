import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where an executable lies: first on PATH, then in the directories for system programs, which PATH of an ordinary user often leaves out. */
export function findOnPath(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/local/bin', '/usr/bin', '/usr/sbin', '/sbin'];
  for (const folder of folders) {
    if (folder === '') continue;
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      continue;
    }
  }
  return undefined;
}
