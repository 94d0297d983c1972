import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DevOrg } from '../../src/cli/dev-file.ts';
import type { AuditEvent } from '../../src/events/event.ts';
import { formatTimestamp, parseTimestamp } from '../../src/kernel/clock.ts';
import { uuidv7 } from '../../src/kernel/ids.ts';

/** A row as the example file holds it: the org is left to the import. */
export type FileRow = Omit<AuditEvent, 'org_id'>;

const hourMicros = 3_600_000_000;

export const exampleFile = join(import.meta.dirname, '../../examples/events.ndjson');

export function readRows(file: string): FileRow[] {
  return readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as FileRow);
}

/**
 * Example rows moved into workspaces that exist, an hour later and with ids of their own: as in production, a workspace's rows carry its
 * creator's id (contract 4.1).
 */
export function rowsOfWorkspaces(rows: readonly FileRow[], demo: DevOrg, creators: readonly string[]): FileRow[] {
  return rows.map((row, index) => {
    const at = index % demo.workspaces.length;
    const workspace = demo.workspaces[at];
    const creator = creators[at];
    if (workspace === undefined || creator === undefined) throw new Error('a workspace without creator');
    const timestamp = formatTimestamp((parseTimestamp(row.timestamp) ?? 0) + hourMicros);
    return { ...row, id: uuidv7(), timestamp, workspace_id: workspace.id, user_id: creator, agent_role: workspace.agent_role };
  });
}

/** The order of pages (contract 4.1). */
export function inOrder<T extends Pick<AuditEvent, 'timestamp' | 'source_seq' | 'id'>>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : a.source_seq - b.source_seq || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)));
}

/** Records of a CSV text (RFC 4180), the header among them. */
export function csvRecords(text: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  for (const match of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n)/g)) {
    record.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (match[3] === ',') continue;
    records.push(record);
    record = [];
  }
  return records;
}
