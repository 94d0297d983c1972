import type { PublishInvalidation } from '../../kernel/invalidation.ts';
import type { Secret } from '../../kernel/secret.ts';
import type { Sql } from './connect.ts';
import type { Outbox } from './outbox.ts';
import { inOrg } from './scope.ts';
import type { ValueSealer } from './sealed-values.ts';

export type SecretStore = {
  /** Sets a secret of the org, replacing one of that name; emits `secret_created`. Throws for a name that breaks the identifier rule. */
  readonly putSecret: (secret: { orgId: string; userId: string; name: string; value: Secret }) => Promise<void>;
  /** False when there is none of that name; emits `secret_deleted`. */
  readonly deleteSecret: (secret: { orgId: string; userId: string; name: string }) => Promise<boolean>;
  readonly secretNames: (orgId: string) => Promise<string[]>;
  /** For the proxy only: those of the names that the org has. Throws SealingError when one of them does not open. */
  readonly openSecrets: (orgId: string, names: readonly string[]) => Promise<Map<string, Secret>>;
};

export const secretBytesMax = 16_384;
const identifier = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** Every change is told to the proxies after its commit. */
export function createSecretStore({ sql, outbox, sealer, publish }: { sql: Sql; outbox: Outbox; sealer: ValueSealer; publish: PublishInvalidation }): SecretStore {
  return {
    async putSecret({ orgId, userId, name, value }) {
      if (!identifier.test(name)) throw new RangeError('a secret\'s name is a letter, then letters, digits, _ or -; 1 to 64 characters');
      const bytes = Buffer.byteLength(value.reveal());
      if (bytes < 1 || bytes > secretBytesMax) throw new RangeError(`a secret has 1 to ${secretBytesMax} bytes`);
      const sealed = sealer.seal(value, { kind: 'secret', orgId, name });
      await inOrg(sql, orgId, async (tx) => {
        await tx`
          insert into secrets (org_id, name, sealed, created_by) values (${orgId}, ${name}, ${sealed}, ${userId})
          on conflict (org_id, name) do update set sealed = excluded.sealed, updated_at = now()`;
        await outbox.append(tx, [{ event_type: 'secret_created', org_id: orgId, user_id: userId, detail: { resource_id: name, name } }]);
      });
      await publish({ kind: 'secrets_changed', orgId });
    },
    async deleteSecret({ orgId, userId, name }) {
      const deleted = await inOrg(sql, orgId, async (tx) => {
        const { count } = await tx`delete from secrets where org_id = ${orgId} and name = ${name}`;
        if (count > 0) await outbox.append(tx, [{ event_type: 'secret_deleted', org_id: orgId, user_id: userId, detail: { resource_id: name, name } }]);
        return count > 0;
      });
      if (deleted) await publish({ kind: 'secrets_changed', orgId });
      return deleted;
    },
    secretNames: (orgId) => inOrg(sql, orgId, async (tx) => {
      const rows = await tx<{ name: string }[]>`select name from secrets where org_id = ${orgId} order by name`;
      return rows.map((row) => row.name);
    }),
    async openSecrets(orgId, names) {
      if (names.length === 0) return new Map();
      const rows = await inOrg(sql, orgId, (tx) => tx<{ name: string; sealed: Uint8Array }[]>`select name, sealed from secrets where org_id = ${orgId} and name = any(${[...names]}::text[])`);
      return new Map(rows.map(({ name, sealed }) => [name, sealer.open(sealed, { kind: 'secret', orgId, name })]));
    },
  };
}
