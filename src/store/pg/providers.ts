import { uuidv7 } from '../../kernel/ids.ts';
import type { Sql } from './connect.ts';
import type { Outbox } from './outbox.ts';
import { inOrg } from './scope.ts';

export type NewProvider = { readonly orgId: string; readonly userId: string; readonly name: string; readonly displayName: string; readonly kind: string; readonly domain: string };

export type ProviderStore = {
  /** Emits `provider_created`; `userId` is who does it. */
  readonly create: (provider: NewProvider) => Promise<{ id: string }>;
};

export function createProviderStore({ sql, outbox }: { sql: Sql; outbox: Outbox }): ProviderStore {
  return {
    create: ({ orgId, userId, name, displayName, kind, domain }) => inOrg(sql, orgId, async (tx) => {
      const id = uuidv7();
      await tx`insert into providers (id, org_id, name, display_name, kind, domain) values (${id}, ${orgId}, ${name}, ${displayName}, ${kind}, ${domain})`;
      await outbox.append(tx, [{ event_type: 'provider_created', org_id: orgId, user_id: userId, detail: { resource_id: id, name, display_name: displayName, kind, domain } }]);
      return { id };
    }),
  };
}
