import { resolve } from 'node:path';
import type { Command } from 'commander';
import { Option } from 'commander';
import { readSettings } from '../config/settings.ts';
import { roles } from '../identity/scopes.ts';
import type { SigningKey } from '../identity/signing-key.ts';
import { signCapabilityToken, signSessionToken } from '../identity/tokens.ts';
import type { Workspace } from '../store/pg/workspaces.ts';
import { readDevFile } from './dev-file.ts';
import type { KeyPurpose } from './up/keys.ts';
import { readKey } from './up/keys.ts';

const daySeconds = 86_400;

function days(text: string): number {
  const value = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > 365) throw new Error('--days: expected an integer from 1 to 365');
  return value;
}

/** `customhouse token session|capability`: tokens for a stack that `up` runs, signed with the keys below its data directory (design 4). */
export function registerToken(program: Command): void {
  const token = program.command('token').description('print a token for the stack in --data-dir');

  token.command('session')
    .description('a session token, as the identity provider would issue it')
    .requiredOption('--org <id>', 'org the session acts in')
    .requiredOption('--user <id>', 'user id, the subject of the token')
    .addOption(new Option('--role <role>', 'member role').choices(roles).makeOptionMandatory())
    .option('--scope <scopes>', 'space-separated scopes that narrow those of the role')
    .option('--days <n>', 'lifetime in days', days, 30)
    .option('--data-dir <dir>', 'data directory of the stack', '.data')
    .action(async (options: { org: string; user: string; role: string; scope?: string; days: number; dataDir: string }) => {
      const key = await stackKey(resolve(options.dataDir), 'session');
      const claims = { userId: options.user, orgId: options.org, role: options.role, ...(options.scope === undefined ? {} : { scope: options.scope }) };
      console.log(await signSessionToken(claims, key, { expiresInS: options.days * daySeconds }));
    });

  token.command('capability')
    .description('a capability token, which an agent of the workspace shows to the proxy')
    .requiredOption('--workspace <id>', 'workspace the token is for')
    .option('--task <id>', 'task the calls belong to')
    .option('--days <n>', 'lifetime in days', days, 30)
    .option('--data-dir <dir>', 'data directory of the stack', '.data')
    .action(async (options: { workspace: string; task?: string; days: number; dataDir: string }) => {
      const dataDir = resolve(options.dataDir);
      const { orgId, createdBy } = await findWorkspace(dataDir, options.workspace);
      const key = await stackKey(dataDir, 'capability');
      const claims = { orgId, workspaceId: options.workspace, userId: createdBy, ...(options.task === undefined ? {} : { taskId: options.task }) };
      console.log(await signCapabilityToken(claims, key, { expiresInS: options.days * daySeconds }));
    });
}

async function stackKey(dataDir: string, purpose: KeyPurpose): Promise<SigningKey> {
  try {
    return await readKey(dataDir, purpose);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error(`no signing keys in ${dataDir}: run customhouse up first; elsewhere the identity provider and the control plane hold them`, { cause: error });
  }
}

async function findWorkspace(dataDir: string, workspaceId: string): Promise<Workspace> {
  const dev = readDevFile(dataDir);
  if (dev === undefined) throw new Error(`no stack in ${dataDir}: run customhouse up first`);
  const { openStores } = await import('./stores.ts');
  const stores = openStores(readSettings({ ...process.env, POSTGRES_URL: dev.postgres_url }));
  try {
    const workspace = await stores.workspaces.workspaceOfAnyOrg(workspaceId);
    if (workspace === undefined) throw new Error(`--workspace: no workspace ${workspaceId} in this stack`);
    return workspace;
  } finally {
    await stores.close();
  }
}
