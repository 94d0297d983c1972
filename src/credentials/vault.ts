import type { AuthProvider } from '../kernel/auth-providers.ts';
import type { Secret } from '../kernel/secret.ts';

/** Contract 2.2. */
export type OAuthKind = 'oauth2_authorization_code' | 'oauth2_client_credentials' | 'oauth2_jwt_bearer' | 'oauth2_jwt_bearer_with_subject' | 'oauth2_client_assertion';
export type CredentialKind = OAuthKind | 'api_key' | 'basic_auth' | 'query_api_key';

/** Contract 3.3. */
export type CredentialStatus = 'active' | 'needs_reauth' | 'failed' | 'revoked';

/** On whose behalf a credential is used. */
export type CredentialOwner = { readonly orgId: string; readonly workspaceId: string };

/** The durable secret with what minting needs of its record (contract 2.2). */
export type StoredCredential = {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly provider: AuthProvider;
  readonly status: CredentialStatus;
} & (
  | { readonly kind: 'api_key' | 'query_api_key'; readonly apiKey: Secret }
  | { readonly kind: 'basic_auth'; readonly username: string; readonly password: Secret }
  | { readonly kind: OAuthKind }
);

export type CredentialVault = {
  /**
   * Resolves with undefined for a name the org has no credential of. Rejects when the vault cannot be asked. `workspaceId` says for whom,
   * so that a personal override can take the place of the org's credential. Must stop working when the signal is aborted.
   */
  load(wanted: CredentialOwner & { readonly name: string }, signal: AbortSignal): Promise<StoredCredential | undefined>;
};
