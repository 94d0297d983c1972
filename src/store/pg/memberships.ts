import { systemUser } from '../../events/event.ts';
import { uuidv7 } from '../../kernel/ids.ts';
import type { Sql, Tx } from './connect.ts';
import type { Outbox } from './outbox.ts';
import { acrossOrgs, inOrg } from './scope.ts';

export type Role = 'owner' | 'operator' | 'member';

export type Invitation = { readonly orgId: string; readonly email: string; readonly role: Role; readonly invitedBy: string };

export type MembershipStore = {
  /** Active memberships of a user over all orgs; pending ones have no user id yet. */
  readonly membershipsOf: (userId: string) => Promise<{ orgId: string; role: Role }[]>;
  /** Emits `membership_invited`. */
  readonly invite: (invitation: Invitation) => Promise<{ id: string; invitationId: string }>;
  /** Stamps the user id; emits `membership_accepted`, as `system` (contract 2.1). False when the org has no such pending invitation. */
  readonly accept: (accepted: { orgId: string; invitationId: string; userId: string }) => Promise<boolean>;
  /** Invitation and acceptance in one transaction, with both rows: how `up` seeds users. */
  readonly add: (member: Invitation & { userId: string }) => Promise<{ id: string }>;
};

export function createMembershipStore({ sql, outbox }: { sql: Sql; outbox: Outbox }): MembershipStore {
  async function invite(tx: Tx, { orgId, email, role, invitedBy }: Invitation): Promise<{ id: string; invitationId: string }> {
    const id = uuidv7();
    const invitationId = uuidv7();
    await tx`insert into memberships (id, org_id, invitation_id, email, role, invited_by) values (${id}, ${orgId}, ${invitationId}, ${email}, ${role}, ${invitedBy})`;
    await outbox.append(tx, [{ event_type: 'membership_invited', org_id: orgId, user_id: invitedBy, detail: { resource_id: id, email, role, invitation_id: invitationId } }]);
    return { id, invitationId };
  }

  async function accept(tx: Tx, { orgId, invitationId, userId }: { orgId: string; invitationId: string; userId: string }): Promise<boolean> {
    const [row] = await tx<{ id: string; email: string; role: string }[]>`
      update memberships set user_id = ${userId}, accepted_at = now()
      where org_id = ${orgId} and invitation_id = ${invitationId} and accepted_at is null returning id, email, role`;
    if (row === undefined) return false;
    const detail = { resource_id: row.id, email: row.email, role: row.role, workos_user_id: userId, invitation_id: invitationId };
    await outbox.append(tx, [{ event_type: 'membership_accepted', org_id: orgId, user_id: systemUser, detail }]);
    return true;
  }

  return {
    membershipsOf: (userId) => acrossOrgs(sql, async (tx) => {
      if (userId === '') return [];
      return tx<{ orgId: string; role: Role }[]>`select org_id as "orgId", role from memberships where user_id = ${userId} and user_id <> '' order by org_id`;
    }),
    invite: (invitation) => inOrg(sql, invitation.orgId, (tx) => invite(tx, invitation)),
    accept: (accepted) => inOrg(sql, accepted.orgId, (tx) => accept(tx, accepted)),
    add: ({ userId, ...invitation }) => inOrg(sql, invitation.orgId, async (tx) => {
      const { id, invitationId } = await invite(tx, invitation);
      await accept(tx, { orgId: invitation.orgId, invitationId, userId });
      return { id };
    }),
  };
}
