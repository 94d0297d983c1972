import { uuidv7 } from '../../kernel/ids.ts';
import type { Sql } from './connect.ts';
import { acrossOrgs } from './scope.ts';

export type OrgState = 'active' | 'trial' | 'past_due' | 'decommissioning' | 'trial_expired';

/** `retentionDays` is undefined when the org leaves it to the RETENTION_DAYS setting. */
export type Org = { readonly id: string; readonly name: string; readonly state: OrgState; readonly retentionDays: number | undefined };

export type OrgStore = {
  readonly orgById: (id: string) => Promise<Org | undefined>;
  readonly list: () => Promise<Org[]>;
  /** Orgs are made by the operator of the service, not through the API: the contract has no audit event for it. */
  readonly create: (org: { id?: string; name: string; state?: OrgState; retentionDays?: number }) => Promise<Org>;
  /** False when there is no such org. */
  readonly setState: (id: string, state: OrgState) => Promise<boolean>;
};

type Row = { id: string; name: string; state: OrgState; retention_days: number | null };

function toOrg(row: Row): Org {
  return { id: row.id, name: row.name, state: row.state, retentionDays: row.retention_days ?? undefined };
}

/** The platform's own org is among them (kernel/ids.ts). All calls throw `dependency_unavailable` when Postgres does not answer. */
export function createOrgStore(sql: Sql): OrgStore {
  return {
    orgById: (id) => acrossOrgs(sql, async (tx) => {
      const [row] = await tx<Row[]>`select id, name, state, retention_days from orgs where id = ${id}`;
      return row === undefined ? undefined : toOrg(row);
    }),
    list: () => acrossOrgs(sql, async (tx) => {
      const rows = await tx<Row[]>`select id, name, state, retention_days from orgs order by created_at, id`;
      return rows.map(toOrg);
    }),
    create: ({ id = uuidv7(), name, state = 'active', retentionDays }) => acrossOrgs(sql, async (tx) => {
      await tx`insert into orgs (id, name, state, retention_days) values (${id}, ${name}, ${state}, ${retentionDays ?? null})`;
      return { id, name, state, retentionDays };
    }),
    setState: (id, state) => acrossOrgs(sql, async (tx) => {
      const { count } = await tx`update orgs set state = ${state}, updated_at = now() where id = ${id}`;
      return count === 1;
    }),
  };
}
