import { uuidv7 } from '../../kernel/ids.ts';
import type { Sql } from './connect.ts';
import type { Outbox } from './outbox.ts';
import { inOrg } from './scope.ts';

export type NewAgentRole = { readonly orgId: string; readonly userId: string; readonly name: string; readonly displayName: string; readonly providerId: string; readonly model: string };

export type AgentRoleStore = {
  /** Emits `agent_role_created`; `userId` is who does it. A provider of another org breaks the foreign key. */
  readonly create: (role: NewAgentRole) => Promise<{ id: string }>;
};

export function createAgentRoleStore({ sql, outbox }: { sql: Sql; outbox: Outbox }): AgentRoleStore {
  return {
    create: ({ orgId, userId, name, displayName, providerId, model }) => inOrg(sql, orgId, async (tx) => {
      const id = uuidv7();
      await tx`insert into agent_roles (id, org_id, provider_id, name, display_name, model) values (${id}, ${orgId}, ${providerId}, ${name}, ${displayName}, ${model})`;
      const detail = { resource_id: id, name, display_name: displayName, provider_id: providerId, model };
      await outbox.append(tx, [{ event_type: 'agent_role_created', org_id: orgId, user_id: userId, detail }]);
      return { id };
    }),
  };
}
