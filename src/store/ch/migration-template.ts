import { MigrationError } from '../pg/migration-files.ts';

export type TemplateTarget = { readonly database: string; readonly cluster: string | undefined };

/**
 * What `{{…}}` in a migration file becomes. One set of files serves both a single server and a cluster; on a cluster each shard holds
 * `audit_events_local` and `audit_events` spreads over the shards by org, so that one org's rows lie on one shard.
 */
function values({ database, cluster }: TemplateTarget): ReadonlyMap<string, string> {
  const replicated = `'/clickhouse/tables/{uuid}/{shard}', '{replica}'`;
  const everywhere = `'/clickhouse/tables/{uuid}/all', '{shard}-{replica}'`;
  return new Map([
    ['database', `\`${database}\``],
    ['on_cluster', cluster === undefined ? '' : `ON CLUSTER \`${cluster}\``],
    ['local', cluster === undefined ? '' : '_local'],
    ['engine ReplacingMergeTree', cluster === undefined ? 'ReplacingMergeTree' : `ReplicatedReplacingMergeTree(${replicated})`],
    ['engine MergeTree', cluster === undefined ? 'MergeTree' : `ReplicatedMergeTree(${everywhere})`],
    ['engine Distributed', cluster === undefined ? '' : `Distributed(\`${cluster}\`, \`${database}\`, audit_events_local, cityHash64(org_id))`],
    ['dedup_window', cluster === undefined ? 'non_replicated_deduplication_window' : 'replicated_deduplication_window'],
  ]);
}

/** Cuts at each `;` outside quotes and comments; drops comments. Neither nested comments nor heredocs are known. */
export function splitStatements(text: string): string[] {
  const statements: string[] = [];
  let statement = '';
  for (const [token] of text.matchAll(/'(?:[^'\\]|\\.)*'|`[^`]*`|--[^\n]*|;|[^'`;-]+|-/gs)) {
    if (token === ';') {
      statements.push(statement);
      statement = '';
    } else if (!token.startsWith('--')) {
      statement += token;
    }
  }
  return [...statements, statement].map((part) => part.trim()).filter((part) => part !== '');
}

/**
 * The statements of a migration file for this target. `{{#cluster}}…{{/cluster}}` is kept on a cluster only.
 * @throws MigrationError for an unknown `{{name}}`
 */
export function renderMigration(name: string, text: string, target: TemplateTarget): string[] {
  const known = values(target);
  const chosen = text.replaceAll(/\{\{#cluster\}\}(.*?)\{\{\/cluster\}\}/gs, (_all, inner: string) => (target.cluster === undefined ? '' : inner));
  const rendered = chosen.replaceAll(/\{\{([^{}]*)\}\}/g, (_all, key: string) => {
    const value = known.get(key.trim());
    if (value === undefined) throw new MigrationError(`${name}: unknown placeholder {{${key}}}`);
    return value;
  });
  return splitStatements(rendered);
}
