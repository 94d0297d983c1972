import { resolve } from 'node:path';
import type { Command } from 'commander';
import { Option } from 'commander';
import { readSettings } from '../config/settings.ts';
import type { Settings } from '../config/settings.ts';
import { systemUser } from '../events/event.ts';
import { createApiKey } from '../identity/api-key.ts';
import { permissionSets } from '../identity/scopes.ts';
import { readDevFile } from './dev-file.ts';
import type { Stores } from './stores.ts';
import { openStores } from './stores.ts';
import { isStackDir } from './up/data-dir.ts';

/**
 * Settings of the stack in `dataDir` when one is up, else of the environment: commands work in development and in production. Throws
 * for a stack that is not up, unless the environment names stores: those of the defaults would be somebody else's.
 */
export function stackSettings(dataDir: string): Settings {
  const dev = readDevFile(resolve(dataDir));
  if (dev === undefined && process.env['POSTGRES_URL'] === undefined && isStackDir(resolve(dataDir))) {
    throw new Error(`the stack in ${dataDir} is not up; start it with: scripts/customhouse up --data-dir ${dataDir}`);
  }
  return readSettings(dev === undefined ? process.env : { ...process.env, POSTGRES_URL: dev.postgres_url, REDIS_URL: dev.redis_url, CLICKHOUSE_URL: dev.clickhouse_url });
}

async function withStores(dataDir: string, work: (stores: Stores) => Promise<unknown>): Promise<void> {
  const stores = openStores(stackSettings(dataDir));
  try {
    console.log(JSON.stringify(await work(stores)));
  } finally {
    await stores.close();
  }
}

/** `customhouse org …`: what must exist before the API can be called: orgs, their first API keys, workspaces. */
export function registerOrg(program: Command): void {
  const org = program.command('org').description('create orgs, API keys and workspaces, straight in Postgres');
  const dataDir = (): Option => new Option('--data-dir <dir>', 'data directory of the stack; without a stack there the settings of the environment').default('.data');

  org.command('list').description('every org').addOption(dataDir()).action((options: { dataDir: string }) => withStores(options.dataDir, (stores) => stores.orgs.list()));

  org.command('create').description('a new org').requiredOption('--name <name>', 'its name').option('--retention-days <n>', 'days its rows are kept', Number).addOption(dataDir())
    .action((options: { name: string; retentionDays?: number; dataDir: string }) =>
      withStores(options.dataDir, (stores) => stores.orgs.create({ name: options.name, ...(options.retentionDays === undefined ? {} : { retentionDays: options.retentionDays }) })));

  org.command('state').description('set the state of an org; all but active and trial refuse mutations').requiredOption('--org <id>', 'the org')
    .addOption(new Option('--state <state>').choices(['active', 'trial', 'past_due', 'decommissioning', 'trial_expired']).makeOptionMandatory()).addOption(dataDir())
    .action((options: { org: string; state: Parameters<Stores['orgs']['setState']>[1]; dataDir: string }) =>
      withStores(options.dataDir, async (stores) => ({ changed: await stores.orgs.setState(options.org, options.state) })));

  org.command('api-key').description('a new API key, shown once').requiredOption('--org <id>', 'the org').option('--label <text>', 'what it is for', 'made on the command line')
    .addOption(new Option('--permission-set <set>').choices(Object.keys(permissionSets)).default('full')).addOption(dataDir())
    .action((options: { org: string; label: string; permissionSet: string; dataDir: string }) =>
      withStores(options.dataDir, async (stores) => {
        const { key, prefix, hash } = createApiKey();
        const { id } = await stores.apiKeys.create({ orgId: options.org, userId: systemUser, label: options.label, prefix, hash, permissionSet: options.permissionSet });
        return { id, key: key.reveal() };
      }));

  org.command('workspace').description('a new workspace, with a provider and an agent role of its own').requiredOption('--org <id>', 'the org')
    .requiredOption('--user <id>', 'who creates it').requiredOption('--role <name>', 'name of its agent role').addOption(dataDir())
    .action((options: { org: string; user: string; role: string; dataDir: string }) =>
      withStores(options.dataDir, async (stores) => {
        const who = { orgId: options.org, userId: options.user };
        const { id: providerId } = await stores.providers.create({ ...who, name: `${options.role}-provider`, displayName: options.role, kind: 'llm', domain: 'api.llm.example.com' });
        const { id: agentRoleId } = await stores.agentRoles.create({ ...who, name: options.role, displayName: options.role, providerId, model: 'model-1' });
        return stores.workspaces.create({ ...who, agentRoleId });
      }));
}
