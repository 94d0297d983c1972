import { uuidv7 } from '../../kernel/ids.ts';
import type { Sql } from './connect.ts';
import type { Outbox } from './outbox.ts';
import { acrossOrgs, inOrg } from './scope.ts';

/** `hash` is the hexadecimal SHA-256 of the key; the key itself is stored nowhere. */
export type StoredApiKey = { readonly id: string; readonly orgId: string; readonly hash: string; readonly permissionSet: string; readonly revokedAt: string | undefined };

export type NewApiKeyRow = { readonly orgId: string; readonly userId: string; readonly label: string; readonly prefix: string; readonly hash: string; readonly permissionSet: string };

export type ApiKeyStore = {
  /** Also finds revoked keys. `prefix` is `ch_` and eight characters. */
  readonly apiKeyByPrefix: (prefix: string) => Promise<StoredApiKey | undefined>;
  /** Emits `api_key_created`; `userId` is who does it. */
  readonly create: (key: NewApiKeyRow) => Promise<{ id: string }>;
  /** Emits `api_key_revoked`. False when the org has no such key that is still valid. */
  readonly revoke: (key: { orgId: string; userId: string; id: string }) => Promise<boolean>;
};

type Row = { id: string; org_id: string; hash: string; permission_set: string; revoked_at: string | null };

export function createApiKeyStore({ sql, outbox }: { sql: Sql; outbox: Outbox }): ApiKeyStore {
  return {
    apiKeyByPrefix: (prefix) => acrossOrgs(sql, async (tx) => {
      const [row] = await tx<Row[]>`select id, org_id, hash, permission_set, revoked_at from api_keys where prefix = ${prefix}`;
      if (row === undefined) return undefined;
      return { id: row.id, orgId: row.org_id, hash: row.hash, permissionSet: row.permission_set, revokedAt: row.revoked_at ?? undefined };
    }),
    create: ({ orgId, userId, label, prefix, hash, permissionSet }) => inOrg(sql, orgId, async (tx) => {
      const id = uuidv7();
      await tx`insert into api_keys (id, org_id, label, prefix, hash, permission_set) values (${id}, ${orgId}, ${label}, ${prefix}, ${hash}, ${permissionSet})`;
      await outbox.append(tx, [{ event_type: 'api_key_created', org_id: orgId, user_id: userId, detail: { resource_id: id, label, prefix, permission_set: permissionSet } }]);
      return { id };
    }),
    revoke: ({ orgId, userId, id }) => inOrg(sql, orgId, async (tx) => {
      const [row] = await tx<{ label: string; prefix: string; permission_set: string }[]>`
        update api_keys set revoked_at = now() where org_id = ${orgId} and id = ${id} and revoked_at is null returning label, prefix, permission_set`;
      if (row === undefined) return false;
      await outbox.append(tx, [{ event_type: 'api_key_revoked', org_id: orgId, user_id: userId, detail: { resource_id: id, ...row } }]);
      return true;
    }),
  };
}
