import { createHash } from 'node:crypto';
import { isUuid } from '../../kernel/ids.ts';
import type { PublishInvalidation } from '../../kernel/invalidation.ts';
import type { Sql, Tx } from './connect.ts';
import type { Outbox } from './outbox.ts';
import { inOrg } from './scope.ts';

/** A document that compiled, with the secrets it names (CompiledPolicy.secretKeys). */
export type CheckedCaps = { readonly text: string; readonly secretKeys: readonly string[] };
export type Enforcement = 'enforce' | 'report';

/** What changes for a role's workspaces; what is left out stays as it is. `caps` null detaches the document. */
export type RolePolicyChange = {
  readonly caps?: CheckedCaps | null;
  readonly environment?: string;
  readonly enforcement?: Enforcement;
  /** JSON Schema by agent event type (contract 6.6). */
  readonly eventSchemas?: Readonly<Record<string, unknown>>;
};

/** A running workspace as the proxy needs it, without the values of its secrets. */
export type WorkspacePolicy = {
  readonly id: string;
  readonly orgId: string;
  readonly createdBy: string;
  readonly agentRoleId: string;
  readonly agentRole: string;
  readonly agentProvider: string;
  readonly environment: string;
  readonly enforcement: Enforcement;
  /** Undefined when the org leaves it to the setting. */
  readonly retentionDays: number | undefined;
  readonly caps: string | undefined;
  readonly secretKeys: readonly string[];
  readonly eventSchemas: Readonly<Record<string, unknown>>;
  /** A digest of all of the above and of the sealed secrets: changes whenever a proxy would be answered differently. */
  readonly version: string;
};

export type WorkspacePolicyStore = {
  /** False when the org has no such role. Emits `agent_role_updated` with `patched_fields`. */
  readonly changeRolePolicy: (who: { orgId: string; userId: string; agentRoleId: string }, change: RolePolicyChange) => Promise<boolean>;
  /** `changeRolePolicy` for the document alone. */
  readonly setCaps: (caps: { orgId: string; userId: string; agentRoleId: string; caps: CheckedCaps | null }) => Promise<boolean>;
  /** Undefined for a workspace that is unknown, of another org, stopped or archived. */
  readonly runningWorkspace: (orgId: string, id: string) => Promise<WorkspacePolicy | undefined>;
};

export const capsBytesMax = 262_144;

type Row = Omit<WorkspacePolicy, 'retentionDays' | 'caps' | 'version'> & { retentionDays: number | null; caps: string | null; sealedDigest: string };

function refuseTooLarge({ caps }: RolePolicyChange): void {
  if (caps === undefined || caps === null) return;
  const bytes = Buffer.byteLength(caps.text);
  if (bytes < 1 || bytes > capsBytesMax) throw new RangeError(`caps: expected 1 to ${capsBytesMax} bytes`);
}

/** Every change is told to the proxies after its commit. */
export function createWorkspacePolicyStore({ sql, outbox, publish }: { sql: Sql; outbox: Outbox; publish: PublishInvalidation }): WorkspacePolicyStore {
  async function update(tx: Tx, orgId: string, agentRoleId: string, change: RolePolicyChange): Promise<Record<string, string> | undefined> {
    const { caps, environment, enforcement, eventSchemas } = change;
    const [row] = await tx<{ name: string; display_name: string; provider_id: string; model: string }[]>`
      update agent_roles set updated_at = now()
        ${caps === undefined ? tx`` : tx`, caps = ${caps?.text ?? null}, caps_secrets = ${[...(caps?.secretKeys ?? [])]}::text[]`}
        ${environment === undefined ? tx`` : tx`, environment = ${environment}`}
        ${enforcement === undefined ? tx`` : tx`, enforcement = ${enforcement}`}
        ${eventSchemas === undefined ? tx`` : tx`, event_schemas = ${tx.json(eventSchemas as Parameters<typeof tx.json>[0])}`}
      where org_id = ${orgId} and id = ${agentRoleId}
      returning name, display_name, provider_id, model`;
    return row;
  }

  async function changeRolePolicy({ orgId, userId, agentRoleId }: { orgId: string; userId: string; agentRoleId: string }, change: RolePolicyChange): Promise<boolean> {
    refuseTooLarge(change);
    const names = { caps: 'caps', environment: 'environment', enforcement: 'enforcement', eventSchemas: 'agent_event_schemas' } as const;
    const patched = (Object.keys(names) as (keyof typeof names)[]).filter((key) => change[key] !== undefined).map((key) => names[key]);
    if (!isUuid(agentRoleId)) return false;
    const changed = await inOrg(sql, orgId, async (tx) => {
      const row = await update(tx, orgId, agentRoleId, change);
      if (row === undefined) return false;
      await outbox.append(tx, [{ event_type: 'agent_role_updated', org_id: orgId, user_id: userId, detail: { resource_id: agentRoleId, ...row, patched_fields: patched } }]);
      return true;
    });
    if (changed) await publish({ kind: 'agent_role_changed', orgId, agentRoleId });
    return changed;
  }

  return {
    changeRolePolicy,
    setCaps: ({ caps, ...who }) => changeRolePolicy(who, { caps }),
    async runningWorkspace(orgId, id) {
      if (!isUuid(id) || !isUuid(orgId)) return undefined;
      const [row] = await inOrg(sql, orgId, (tx) => tx<Row[]>`
        select w.id, w.org_id as "orgId", w.created_by as "createdBy", r.id as "agentRoleId", r.name as "agentRole", p.name as "agentProvider",
          r.environment, r.enforcement, o.retention_days as "retentionDays", r.caps, r.caps_secrets as "secretKeys", r.event_schemas as "eventSchemas",
          coalesce((select string_agg(s.name || ':' || encode(sha256(s.sealed), 'hex'), ',' order by s.name)
            from secrets s where s.org_id = w.org_id and s.name = any(r.caps_secrets)), '') as "sealedDigest"
        from workspaces w
        join agent_roles r on r.org_id = w.org_id and r.id = w.agent_role_id
        join providers p on p.org_id = r.org_id and p.id = r.provider_id
        join orgs o on o.id = w.org_id
        where w.org_id = ${orgId} and w.id = ${id} and w.archived_at is null and w.stopped_at is null`);
      if (row === undefined) return undefined;
      const { sealedDigest, ...rest } = row;
      const version = createHash('sha256').update(JSON.stringify(rest)).update('\0').update(sealedDigest).digest('base64url');
      return { ...rest, retentionDays: row.retentionDays ?? undefined, caps: row.caps ?? undefined, version };
    },
  };
}
