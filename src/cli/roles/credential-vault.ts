import type { CredentialKind, CredentialStatus, CredentialVault, StoredCredential } from '../../credentials/vault.ts';
import type { AuthProvider } from '../../kernel/auth-providers.ts';
import { authProviders } from '../../kernel/auth-providers.ts';
import type { ControlPlane, CredentialAnswer } from '../../proxy/workspaces/control-plane.ts';

const kinds: readonly string[] = [
  'oauth2_authorization_code', 'oauth2_client_credentials', 'oauth2_jwt_bearer', 'oauth2_jwt_bearer_with_subject', 'oauth2_client_assertion', 'api_key', 'basic_auth', 'query_api_key',
] satisfies CredentialKind[];
const statuses: readonly string[] = ['active', 'needs_reauth', 'failed', 'revoked'] satisfies CredentialStatus[];

/** The vault of a proxy: it asks the control plane, which alone can open what is sealed. */
export function createControlPlaneVault({ loadCredential }: Pick<ControlPlane, 'loadCredential'>): CredentialVault {
  return {
    async load({ orgId, name }) {
      const answer = await loadCredential(orgId, name);
      return answer === undefined ? undefined : storedCredential(orgId, answer);
    },
  };
}

/** Throws for a record that no version of the control plane makes; the text holds none of its values. */
function storedCredential(orgId: string, { id, name, provider, kind, status, providerConfig, material }: CredentialAnswer): StoredCredential {
  if (!Object.hasOwn(authProviders, provider) || !kinds.includes(kind) || !statuses.includes(status)) throw new Error('a credential of an unknown provider, kind or status');
  const record = { id, orgId, name, provider: provider as AuthProvider, status: status as CredentialStatus };
  if (kind !== 'api_key' && kind !== 'query_api_key' && kind !== 'basic_auth') return { ...record, kind: kind as Exclude<CredentialKind, 'api_key' | 'query_api_key' | 'basic_auth'> };
  if (material === undefined) throw new Error('a static credential without its secret');
  if (kind !== 'basic_auth') return { ...record, kind, apiKey: material };
  const { username } = providerConfig;
  if (typeof username !== 'string') throw new Error('a credential for basic authentication without a user name');
  return { ...record, kind, username, password: material };
}
