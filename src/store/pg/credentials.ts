import { uuidv7 } from '../../kernel/ids.ts';
import type { PublishInvalidation } from '../../kernel/invalidation.ts';
import type { Secret } from '../../kernel/secret.ts';
import type { Sql } from './connect.ts';
import type { Outbox } from './outbox.ts';
import { inOrg } from './scope.ts';
import type { ValueSealer } from './sealed-values.ts';

/** Contract 2.2. */
export const credentialKinds = [
  'oauth2_authorization_code', 'oauth2_client_credentials', 'oauth2_jwt_bearer', 'oauth2_jwt_bearer_with_subject', 'oauth2_client_assertion',
  'api_key', 'basic_auth', 'query_api_key',
] as const;
export type CredentialKind = (typeof credentialKinds)[number];
export type CredentialStatus = 'active' | 'needs_reauth' | 'failed' | 'revoked';

export type NewCredential = {
  readonly orgId: string;
  /** Who does it. */
  readonly userId: string;
  readonly name: string;
  readonly provider: string;
  readonly kind: CredentialKind;
  readonly scopes?: readonly string[];
  /** Never the secret. */
  readonly providerConfig?: Readonly<Record<string, unknown>>;
  /** The durable secret: a key, a password, a client secret, a refresh token, a service-account document. */
  readonly material: Secret;
};

/** A credential of the org as the proxy's broker needs it, its durable secret opened. */
export type OpenedCredential = {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly kind: CredentialKind;
  readonly scopes: readonly string[];
  readonly providerConfig: Readonly<Record<string, unknown>>;
  readonly status: CredentialStatus;
  /** Undefined while the authorization-code flow has not been completed. */
  readonly material: Secret | undefined;
};

export type CredentialStore = {
  /** Sets a credential of the org, replacing one of that name, which keeps its id; emits `credential_created`. */
  readonly putCredential: (credential: NewCredential) => Promise<{ id: string }>;
  /** For the proxy only. Undefined when the org has none of that name. Throws SealingError when it does not open. */
  readonly openCredential: (orgId: string, name: string) => Promise<OpenedCredential | undefined>;
};

export const materialBytesMax = 65_536;
const nameCharactersMax = 200;

type Row = Omit<OpenedCredential, 'material'> & { sealed: Uint8Array | null };

/** Credentials of orgs; those of single users come with the control plane. Every change is told to the proxies after its commit. */
export function createCredentialStore({ sql, outbox, sealer, publish }: { sql: Sql; outbox: Outbox; sealer: ValueSealer; publish: PublishInvalidation }): CredentialStore {
  return {
    async putCredential({ orgId, userId, name, provider, kind, scopes = [], providerConfig = {}, material }) {
      if (name.length < 1 || name.length > nameCharactersMax) throw new RangeError(`a credential's name has 1 to ${nameCharactersMax} characters`);
      const bytes = Buffer.byteLength(material.reveal());
      if (bytes < 1 || bytes > materialBytesMax) throw new RangeError(`a credential's secret has 1 to ${materialBytesMax} bytes`);
      const sealed = sealer.seal(material, { kind: 'credential', orgId, name });
      const id = await inOrg(sql, orgId, async (tx) => {
        const [row] = await tx<{ id: string }[]>`
          insert into credentials (id, org_id, name, provider, kind, scopes, provider_config, sealed)
          values (${uuidv7()}, ${orgId}, ${name}, ${provider}, ${kind}, ${[...scopes]}::text[], ${tx.json(providerConfig as Parameters<typeof tx.json>[0])}, ${sealed})
          on conflict (org_id, name) where user_id is null do update set provider = excluded.provider, kind = excluded.kind, scopes = excluded.scopes,
            provider_config = excluded.provider_config, sealed = excluded.sealed, status = 'active', last_minted_status = null, updated_at = now()
          returning id`;
        if (row === undefined) throw new Error('a credential just stored has no row');
        const detail = { resource_id: row.id, name, provider, kind, scopes: [...scopes], status: 'active' };
        await outbox.append(tx, [{ event_type: 'credential_created', org_id: orgId, user_id: userId, detail }]);
        return row.id;
      });
      await publish({ kind: 'credential_changed', orgId, name });
      return { id };
    },
    async openCredential(orgId, name) {
      const [row] = await inOrg(sql, orgId, (tx) => tx<Row[]>`
        select id, name, provider, kind, scopes, provider_config as "providerConfig", status, sealed
        from credentials where org_id = ${orgId} and name = ${name} and user_id is null`);
      if (row === undefined) return undefined;
      const { sealed, ...rest } = row;
      return { ...rest, material: sealed === null ? undefined : sealer.open(sealed, { kind: 'credential', orgId, name }) };
    },
  };
}
