import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '../../config/settings.ts';
import { systemUser } from '../../events/event.ts';
import { createApiKey } from '../../identity/api-key.ts';
import { signCapabilityToken, signSessionToken } from '../../identity/tokens.ts';
import { uuidv7 } from '../../kernel/ids.ts';
import { Secret } from '../../kernel/secret.ts';
import { readPolicyText } from '../../policy/read-policy.ts';
import type { CheckedCaps } from '../../store/pg/workspace-policies.ts';
import type { DevOrg, DevUser } from '../dev-file.ts';
import type { Stores } from '../stores.ts';
import { openStores } from '../stores.ts';
import { demoCaps, demoSecretName } from './demo-policy.ts';
import { readKey, readSharedSecret } from './keys.ts';

const tokenDays = 30;
const memberRoles = ['owner', 'operator', 'member'] as const;

async function seedKey(stores: Stores, orgId: string): Promise<string> {
  const { key, prefix, hash } = createApiKey();
  await stores.apiKeys.create({ orgId, userId: systemUser, label: 'seeded by up', prefix, hash, permissionSet: 'full' });
  return key.reveal();
}

function checkedDemoCaps(): CheckedCaps {
  const { policy } = readPolicyText(demoCaps);
  if (policy === undefined) throw new Error('the demo policy does not compile');
  return { text: demoCaps, secretKeys: policy.secretKeys };
}

async function seedDemo(stores: Stores, demo: boolean): Promise<DevOrg> {
  const { id: orgId } = await stores.orgs.create({ name: 'demo' });
  const users: DevUser[] = memberRoles.map((role) => ({ user_id: `user_${uuidv7().replaceAll('-', '')}`, role, token: '' }));
  const owner = users[0]?.user_id ?? systemUser;
  for (const user of users) await stores.memberships.add({ orgId, email: `${user.role}@demo.example.com`, role: user.role, invitedBy: owner, userId: user.user_id });
  const { id: providerId } = await stores.providers.create({ orgId, userId: owner, name: 'llm', displayName: 'LLM API', kind: 'llm', domain: 'api.llm.example.com' });
  const caps = demo ? checkedDemoCaps() : undefined;
  if (caps !== undefined) await stores.secrets.putSecret({ orgId, userId: owner, name: demoSecretName, value: new Secret(`demo-${randomBytes(16).toString('hex')}`) });
  const roleNames = ['coder', 'support'] as const;
  const workspaces: DevOrg['workspaces'] = [];
  for (const [index, name] of roleNames.entries()) {
    const { id: agentRoleId } = await stores.agentRoles.create({ orgId, userId: owner, name, displayName: name, providerId, model: 'model-1' });
    if (caps !== undefined) await stores.policies.setCaps({ orgId, userId: owner, agentRoleId, caps });
    // One workspace of the owner's and one of the member's, so that `:own` scopes have something to tell apart.
    const creator = users[index === 0 ? 0 : 2]?.user_id ?? owner;
    const workspace = await stores.workspaces.create({ orgId, userId: creator, agentRoleId });
    workspaces.push({ id: workspace.id, agent_role: name, capability_token: '' });
  }
  return { org_id: orgId, name: 'demo', api_key: await seedKey(stores, orgId), users, workspaces };
}

async function seedOther(stores: Stores): Promise<DevOrg> {
  const { id: orgId } = await stores.orgs.create({ name: 'other' });
  return { org_id: orgId, name: 'other', api_key: await seedKey(stores, orgId), users: [], workspaces: [] };
}

const seeds = [['demo', seedDemo], ['other', seedOther]] as const;

function seedsFile(dataDir: string): string {
  return join(dataDir, 'orgs.json');
}

function readSeeds(dataDir: string): DevOrg[] {
  try {
    return JSON.parse(readFileSync(seedsFile(dataDir), 'utf8')) as DevOrg[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function writeSeeds(dataDir: string, orgs: readonly DevOrg[]): void {
  writeFileSync(`${seedsFile(dataDir)}.tmp`, `${JSON.stringify(orgs, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${seedsFile(dataDir)}.tmp`, seedsFile(dataDir));
}

/**
 * The two orgs of a development stack, kept in a file of their own below the data directory: their API keys cannot be read back from
 * the database, and `dev.json` exists only while the stack is up. Tokens are signed anew each time, for 30 days. Without `demo` the
 * workspaces have no policy.
 *
 * Crash point: between an org's rows and the file. The next run makes that org again; the first stays, and nobody has its key.
 */
export async function seedOrgs(options: { dataDir: string; postgresUrl: string; redisUrl: string; demo: boolean }): Promise<DevOrg[]> {
  const stores = openStores(readSettings({ ...process.env, POSTGRES_URL: options.postgresUrl, REDIS_URL: options.redisUrl, SECRETS_KEY: readSharedSecret(options.dataDir, 'secrets-key') }));
  try {
    const known = readSeeds(options.dataDir);
    const orgs: DevOrg[] = [];
    for (const [name, seed] of seeds) {
      const before = known.find((candidate) => candidate.name === name);
      // A seed whose org is gone is of another database.
      orgs.push(before !== undefined && (await stores.orgs.orgById(before.org_id)) !== undefined ? before : await seed(stores, options.demo));
      writeSeeds(options.dataDir, [...orgs, ...known.filter((other) => !orgs.some((org) => org.name === other.name))]);
    }
    const [sessionKey, capabilityKey] = await Promise.all([readKey(options.dataDir, 'session'), readKey(options.dataDir, 'capability')]);
    const lifetime = { expiresInS: tokenDays * 86_400 };
    for (const org of orgs) {
      for (const user of org.users) user.token = await signSessionToken({ userId: user.user_id, orgId: org.org_id, role: user.role }, sessionKey, lifetime);
      for (const workspace of org.workspaces) {
        const userId = (await stores.workspaces.workspaceById(org.org_id, workspace.id))?.createdBy ?? systemUser;
        workspace.capability_token = await signCapabilityToken({ orgId: org.org_id, workspaceId: workspace.id, userId }, capabilityKey, lifetime);
      }
    }
    return orgs;
  } finally {
    await stores.close();
  }
}
