import { resolve } from 'node:path';
import type { Command } from 'commander';
import { Option } from 'commander';
import { readSettings } from '../config/settings.ts';
import type { Settings } from '../config/settings.ts';
import { systemUser } from '../events/event.ts';
import { createApiKey } from '../identity/api-key.ts';
import { permissionSets } from '../identity/scopes.ts';
import { isUuid } from '../kernel/ids.ts';
import { isUniqueViolation } from '../store/pg/errors.ts';
import type { Column } from './audit/table.ts';
import { renderTable } from './audit/table.ts';
import { readDevFile } from './dev-file.ts';
import type { Stores } from './stores.ts';
import { openStores } from './stores.ts';
import { isStackDir } from './up/data-dir.ts';
import { sharedSecretIn } from './up/keys.ts';

/** An empty variable is as good as none, as for every setting. */
export function environmentNamesStores(): boolean {
  return (process.env['POSTGRES_URL'] ?? '') !== '';
}

/**
 * Settings of the stack in `dataDir` when one is up, else of the environment: commands work in development and in production. Throws
 * for a stack that is not up, unless the environment names stores: those of the defaults would be somebody else's.
 */
export function stackSettings(dataDir: string): Settings {
  const dev = readDevFile(resolve(dataDir));
  if (dev === undefined && !environmentNamesStores() && isStackDir(resolve(dataDir))) {
    throw new Error(`the stack in ${dataDir} is not up; start it with: scripts/customhouse up --data-dir ${dataDir}`);
  }
  if (dev === undefined) return readSettings();
  const sealingKey = sharedSecretIn(resolve(dataDir), 'secrets-key');
  return readSettings({ ...process.env, POSTGRES_URL: dev.postgres_url, REDIS_URL: dev.redis_url, CLICKHOUSE_URL: dev.clickhouse_url, ...(sealingKey === undefined ? {} : { SECRETS_KEY: sealingKey }) });
}

const retentionDaysMax = 3653;
const nameLengthMax = 200;

export async function withStores(dataDir: string, work: (stores: Stores) => Promise<unknown>): Promise<void> {
  const stores = openStores(stackSettings(dataDir));
  try {
    console.log(JSON.stringify(await work(stores)));
  } finally {
    await stores.close();
  }
}

function retentionDays(text: string): number {
  const days = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > retentionDaysMax) throw new Error(`--retention-days: expected an integer from 1 to ${retentionDaysMax}`);
  return days;
}

function orgName(text: string): string {
  if (text.length < 1 || text.length > nameLengthMax) throw new Error(`--name: expected 1 to ${nameLengthMax} characters`);
  return text;
}

const listColumns: readonly Column[] = [
  { title: 'org', widthMin: 36, widthMax: 36 },
  { title: 'name', widthMin: 8, widthMax: 60 },
  { title: 'state', widthMin: 6, widthMax: 16 },
  { title: 'retention days', right: true, widthMin: 4, widthMax: 14 },
];

/** For commands that change something of an org: the id, once it is known to be one. */
export async function knownOrg(stores: Stores, id: string): Promise<string> {
  if (!isUuid(id) || (await stores.orgs.orgById(id)) === undefined) throw new Error(`--org: no org ${id} (customhouse org list shows them)`);
  return id;
}

/** `customhouse org …`: what must exist before the API can be called: orgs, their first API keys, workspaces. */
export function registerOrg(program: Command): void {
  const org = program.command('org').description('create orgs, API keys and workspaces, straight in Postgres');
  const dataDir = (): Option => new Option('--data-dir <dir>', 'data directory of the stack; without a stack there the settings of the environment').default('.data');

  org.command('list').description('every org; a table on a terminal, NDJSON when piped').addOption(dataDir()).action(async (options: { dataDir: string }) => {
    const stores = openStores(stackSettings(options.dataDir));
    try {
      const orgs = await stores.orgs.list();
      if (process.stdout.isTTY) process.stdout.write(renderTable(process.stdout, listColumns, orgs.map(({ id, name, state, retentionDays: days }) => [id, name, state, days?.toString() ?? ''])));
      else process.stdout.write(orgs.map((one) => `${JSON.stringify(one)}\n`).join(''));
    } finally {
      await stores.close();
    }
  });

  org.command('create').description('a new org').requiredOption('--name <name>', 'its name', orgName).option('--retention-days <n>', 'days its rows are kept', retentionDays).addOption(dataDir())
    .action((options: { name: string; retentionDays?: number; dataDir: string }) =>
      withStores(options.dataDir, (stores) => stores.orgs.create({ name: options.name, ...(options.retentionDays === undefined ? {} : { retentionDays: options.retentionDays }) })));

  org.command('state').description('set the state of an org; all but active and trial refuse mutations').requiredOption('--org <id>', 'the org')
    .addOption(new Option('--state <state>').choices(['active', 'trial', 'past_due', 'decommissioning', 'trial_expired']).makeOptionMandatory()).addOption(dataDir())
    .action((options: { org: string; state: Parameters<Stores['orgs']['setState']>[1]; dataDir: string }) =>
      withStores(options.dataDir, async (stores) => {
        const id = await knownOrg(stores, options.org);
        await stores.orgs.setState(id, options.state);
        return stores.orgs.orgById(id);
      }));

  org.command('api-key').description('a new API key, shown once').requiredOption('--org <id>', 'the org').option('--label <text>', 'what it is for', 'made on the command line')
    .addOption(new Option('--permission-set <set>').choices(Object.keys(permissionSets)).default('full')).addOption(dataDir())
    .action((options: { org: string; label: string; permissionSet: string; dataDir: string }) =>
      withStores(options.dataDir, async (stores) => {
        const orgId = await knownOrg(stores, options.org);
        const { key, prefix, hash } = createApiKey();
        const { id } = await stores.apiKeys.create({ orgId, userId: systemUser, label: options.label, prefix, hash, permissionSet: options.permissionSet });
        return { id, key: key.reveal() };
      }));

  org.command('workspace').description('a new workspace, with a provider and an agent role of its own').requiredOption('--org <id>', 'the org')
    .requiredOption('--user <id>', 'who creates it').requiredOption('--role <name>', 'name of its agent role').addOption(dataDir())
    .action((options: { org: string; user: string; role: string; dataDir: string }) =>
      withStores(options.dataDir, async (stores) => {
        const who = { orgId: await knownOrg(stores, options.org), userId: options.user };
        try {
          const { id: providerId } = await stores.providers.create({ ...who, name: `${options.role}-provider`, displayName: options.role, kind: 'llm', domain: 'api.llm.example.com' });
          const { id: agentRoleId } = await stores.agentRoles.create({ ...who, name: options.role, displayName: options.role, providerId, model: 'model-1' });
          return await stores.workspaces.create({ ...who, agentRoleId });
        } catch (error) {
          if (!isUniqueViolation(error)) throw error;
          throw new Error(`--role: this org has an agent role ${options.role} or its provider already`, { cause: error });
        }
      }));
}
