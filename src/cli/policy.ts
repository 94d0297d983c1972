import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { Option } from 'commander';
import { systemUser } from '../events/event.ts';
import { authProviderSlugs } from '../kernel/auth-providers.ts';
import { Secret } from '../kernel/secret.ts';
import { readPolicyText } from '../policy/read-policy.ts';
import { credentialKinds } from '../store/pg/credentials.ts';
import type { CredentialKind } from '../store/pg/credentials.ts';
import type { CheckedCaps, Enforcement, RolePolicyChange } from '../store/pg/workspace-policies.ts';
import { knownOrg, withStores } from './org.ts';
import type { Stores } from './stores.ts';

const stdinBytesMax = 65_536;
const dataDir = (): Option => new Option('--data-dir <dir>', 'data directory of the stack; without a stack there the settings of the environment').default('.data');

/** A secret comes by standard input: arguments stand in the process list and in the shell's history. */
function secretFromStdin(): Secret {
  const text = readFileSync(0, { encoding: 'utf8' });
  if (Buffer.byteLength(text) > stdinBytesMax) throw new Error(`standard input: more than ${stdinBytesMax} bytes`);
  const value = text.replace(/\r?\n$/, '');
  if (value === '') throw new Error('standard input: no value; for example: printf %s "$VALUE" | customhouse secret put NAME --org ID');
  return new Secret(value);
}

function checkedCaps(file: string): CheckedCaps {
  const text = readFileSync(file, 'utf8');
  const { policy, problems } = readPolicyText(text);
  if (policy === undefined) throw new Error(`${file}: ${problems.length} problems; customhouse caps validate ${file} shows them`);
  return { text, secretKeys: policy.secretKeys };
}

async function changePolicy(stores: Stores, workspaceId: string, change: RolePolicyChange): Promise<object> {
  const workspace = await stores.workspaces.workspaceOfAnyOrg(workspaceId);
  const running = workspace === undefined ? undefined : await stores.policies.runningWorkspace(workspace.orgId, workspaceId);
  if (running === undefined) throw new Error(`--workspace: no running workspace ${workspaceId}`);
  const { orgId, agentRoleId, agentRole } = running;
  await stores.policies.changeRolePolicy({ orgId, userId: systemUser, agentRoleId }, change);
  const after = await stores.policies.runningWorkspace(orgId, workspaceId);
  return { org_id: orgId, agent_role: agentRole, attached: after?.caps !== undefined, environment: after?.environment, enforcement: after?.enforcement };
}

/** `customhouse policy|secret|credential …`: what the proxy decides and sends by, straight in Postgres. Running proxies hear of it at once. */
export function registerPolicy(program: Command): void {
  const policy = program.command('policy').description('attach policies to the agent role of a workspace');
  const workspace = ['--workspace <id>', 'a workspace of the role; all workspaces of the role are governed by the same policy'] as const;
  policy.command('attach').description('check a policy and attach it').argument('<file>', 'the policy (caps.yaml)').requiredOption(...workspace)
    .option('--environment <name>', 'workspace.environment in expressions')
    .addOption(new Option('--enforcement <mode>', 'report decides and records, but lets every call pass').choices(['enforce', 'report'])).addOption(dataDir())
    .action((file: string, options: { workspace: string; environment?: string; enforcement?: Enforcement; dataDir: string }) => {
      const caps = checkedCaps(file);
      return withStores(options.dataDir, (stores) => changePolicy(stores, options.workspace, {
        caps, ...(options.environment === undefined ? {} : { environment: options.environment }), ...(options.enforcement === undefined ? {} : { enforcement: options.enforcement }),
      }));
    });
  policy.command('detach').description('take the policy away: every call is denied as no_policy').requiredOption(...workspace).addOption(dataDir())
    .action((options: { workspace: string; dataDir: string }) => withStores(options.dataDir, (stores) => changePolicy(stores, options.workspace, { caps: null })));

  const org = ['--org <id>', 'the org'] as const;
  const secret = program.command('secret').description('secrets that policies put into requests: secrets["NAME"]');
  secret.command('put').description('set a secret from standard input').argument('<name>').requiredOption(...org).addOption(dataDir())
    .action((name: string, options: { org: string; dataDir: string }) => {
      const value = secretFromStdin();
      return withStores(options.dataDir, async (stores) => {
        await stores.secrets.putSecret({ orgId: await knownOrg(stores, options.org), userId: systemUser, name, value });
        return { name };
      });
    });
  secret.command('delete').description('delete a secret').argument('<name>').requiredOption(...org).addOption(dataDir())
    .action((name: string, options: { org: string; dataDir: string }) => withStores(options.dataDir, async (stores) => ({ name, deleted: await stores.secrets.deleteSecret({ orgId: await knownOrg(stores, options.org), userId: systemUser, name }) })));
  secret.command('list').description('names of an org\'s secrets').requiredOption(...org).addOption(dataDir())
    .action((options: { org: string; dataDir: string }) => withStores(options.dataDir, async (stores) => stores.secrets.secretNames(await knownOrg(stores, options.org))));

  const credential = program.command('credential').description('credentials that auth transforms put into requests');
  credential.command('put').description('set a credential, its secret from standard input').argument('<name>').requiredOption(...org)
    .addOption(new Option('--provider <provider>').choices(authProviderSlugs).makeOptionMandatory())
    .addOption(new Option('--kind <kind>').choices(credentialKinds.filter((kind) => !kind.startsWith('oauth2'))).makeOptionMandatory())
    .option('--username <name>', 'for basic_auth').addOption(dataDir())
    .action((name: string, options: { org: string; provider: string; kind: CredentialKind; username?: string; dataDir: string }) => {
      if ((options.kind === 'basic_auth') !== (options.username !== undefined)) throw new Error('--username: needed for basic_auth, and for nothing else');
      const material = secretFromStdin();
      return withStores(options.dataDir, async (stores) => stores.credentials.putCredential({
        orgId: await knownOrg(stores, options.org), userId: systemUser, name, provider: options.provider, kind: options.kind, material,
        ...(options.username === undefined ? {} : { providerConfig: { username: options.username } }),
      }));
    });
}
