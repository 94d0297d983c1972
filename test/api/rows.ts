import type { AuditEvent } from '../../src/events/event.ts';
import { formatTimestamp } from '../../src/kernel/clock.ts';
import { sampleEvent, without } from '../support/sample-events.ts';
import type { Tenant } from './live-api.ts';

/** 2026-11-20T10:00:00Z in microseconds. */
export const startMicros = Date.UTC(2026, 10, 20, 10) * 1000;

const hosts = ['api.example.com', 'files.example.org', 'queue.example.net'];

/**
 * Rows of every kind that visibility tells apart: decisions, mutations and activity; by alice, bob, and API keys; in two workspaces and in
 * none. Five rows share each timestamp, so that source_seq and id decide the order too.
 */
export function tenantRows(tenant: Tenant, count: number, firstSeq = 1): AuditEvent[] {
  return Array.from({ length: count }, (_, index): AuditEvent => {
    const seq = firstSeq + index;
    const ofAlice = seq % 3 !== 0;
    const base = {
      org_id: tenant.orgId,
      timestamp: formatTimestamp(startMicros + Math.floor(seq / 5) * 61_000_000),
      source_seq: Math.floor(seq / 2),
    };
    const owned = { ...base, user_id: ofAlice ? 'alice' : 'bob', workspace_id: ofAlice ? tenant.aliceWorkspace : tenant.bobWorkspace };
    switch (seq % 5) {
      case 0:
        return sampleEvent('provider_created', { ...base, user_id: seq % 2 === 0 ? 'alice' : 'system' });
      case 1:
        return sampleEvent('task_submitted', { ...owned, task_id: `task_${seq % 4}` });
      case 2:
        return sampleEvent('tool_call', { ...owned, task_id: `task_${seq % 4}` });
      case 3:
        return without(sampleEvent('policy_decision', { ...owned, decision: 'deny', reason: 'no_match', latency_ms: seq % 200, destination: hosts[seq % 3] ?? '' }), 'debits', 'budget_state');
      default:
        return sampleEvent('policy_decision', { ...owned, latency_ms: seq % 500, destination: hosts[seq % 3] ?? '', debits: { requests: 1, tokens: seq } });
    }
  });
}

/** The order of contract 2.1. */
export function compareRows(a: AuditEvent, b: AuditEvent): number {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1;
  if (a.source_seq !== b.source_seq) return a.source_seq - b.source_seq;
  return a.id < b.id ? -1 : 1;
}

export function sorted(rows: readonly AuditEvent[], order: 'asc' | 'desc'): AuditEvent[] {
  return rows.toSorted((a, b) => (order === 'asc' ? compareRows(a, b) : compareRows(b, a)));
}

export const ids = (rows: readonly { id: string }[]): string[] => rows.map((row) => row.id);
