import type { OrgStore } from '../../store/pg/orgs.ts';
import type { RetentionOf } from './parse-row.ts';

/** Answers kept in memory; a file that names more unknown orgs than this asks Postgres again. */
const cachedMax = 100_000;

/** Looks orgs up once each. An org that sets no retention has the default. */
export function createRetentionLookup(orgs: Pick<OrgStore, 'orgById'>, defaultDays: number): RetentionOf {
  const known = new Map<string, number | undefined>();
  async function ask(orgId: string): Promise<number | undefined> {
    const org = await orgs.orgById(orgId);
    const days = org === undefined ? undefined : org.retentionDays ?? defaultDays;
    if (known.size >= cachedMax) known.clear();
    known.set(orgId, days);
    return days;
  }
  return (orgId) => (known.has(orgId) ? known.get(orgId) : ask(orgId));
}
