import { formatTimestamp } from '../src/kernel/clock.ts';
import { rowProblems } from '../src/events/schema.ts';
import type { AuditEvent } from '../src/events/event.ts';

/** A reproducible stream of numbers in [0, 1): the same seed gives the same rows on every machine (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const hosts = ['api.llm.example.com', 'api.code.example.com', 'tickets.example.com', 'search.example.com', 'files.example.org', 'telemetry.example.net'];
const capabilities = ['llm', 'code-host', 'tickets', 'web-search'];
const roles = ['coder', 'reviewer', 'support'];
const denies = ['no_match', 'budget_exhausted', 'schema_violation', 'format_mismatch'] as const;
const agentTypes = ['tool_call', 'tool_result', 'agent_response', 'current_status', 'iteration_start', 'iteration_end'];

export type SampleOptions = { seed: number; orgId: string; startMicros: number; stepMicros: number; workspaces: number; users: number };

function uuidFrom(random: () => number, ms: number): string {
  const hex = (count: number): string => Array.from({ length: count }, () => Math.floor(random() * 16).toString(16)).join('');
  const time = Math.floor(ms).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(3)}-8${hex(3)}-${hex(12)}`;
}

/**
 * Rows as a platform with agents makes them: four of five are policy decisions, one in seven of these a deny, the rest agent events and
 * task lifecycle. Skewed over users, workspaces and hosts; times ascend.
 */
export function createSampler(options: SampleOptions): () => AuditEvent {
  const random = createRandom(options.seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() ** 2 * list.length)] as T;
  const setupMs = options.startMicros / 1000 - 86_400_000;
  const workspaces = Array.from({ length: options.workspaces }, (_, index) => ({
    workspace_id: uuidFrom(random, setupMs + index),
    user_id: `user_${String(index % options.users).padStart(4, '0')}`,
    agent_role: roles[index % roles.length] as string,
    agent_provider: index % 2 === 0 ? 'llm-one' : 'llm-two',
    task_id: uuidFrom(random, setupMs + index),
  }));
  let micros = options.startMicros;
  let seq = 0;

  function decision(base: Base): AuditEvent {
    const denied = random() < 0.14;
    const destination = pick(hosts);
    const tokens = Math.floor(random() * 4000);
    const common = {
      ...base,
      event_type: 'policy_decision',
      category: 'audit' as const,
      actor: 'policy-engine' as const,
      destination,
      method: random() < 0.6 ? 'POST' : 'GET',
      path: `/v1/${pick(['messages', 'repos', 'issues', 'search', 'files'])}/${Math.floor(random() * 500)}`,
      latency_ms: Math.floor(3 + random() ** 4 * 1500),
      policy_type: 'http' as const,
      transforms_applied: denied ? 0 : 1,
      validations_applied: random() < 0.3 ? 1 : 0,
    };
    if (denied) {
      const reason = pick(denies);
      const detail = reason === 'budget_exhausted' ? { counter: 'tokens', scope: 'task' } : { allowrule_eval: [{ rule: 'default', failed: 'path' }] };
      return { ...common, decision: 'deny', reason, phase: 'request_headers', detail };
    }
    return {
      ...common,
      decision: 'allow',
      phase: 'response_body',
      capability_name: pick(capabilities),
      debits: { requests: 1, tokens },
      budget_state: { tokens: { used: tokens * 3, max: 1_000_000 } },
      auth_used: ['llm-key'],
    };
  }

  type Base = Pick<AuditEvent, 'id' | 'org_id' | 'user_id' | 'timestamp' | 'source_seq' | 'workspace_id' | 'task_id' | 'agent_role' | 'agent_provider'>;

  return () => {
    micros += 1 + Math.floor(random() * 2 * options.stepMicros);
    seq += 1;
    const base: Base = { id: uuidFrom(random, micros / 1000), org_id: options.orgId, timestamp: formatTimestamp(micros), source_seq: seq, ...pick(workspaces) };
    const kind = random();
    if (kind < 0.8) return decision(base);
    if (kind < 0.95) return { ...base, event_type: pick(agentTypes), category: 'activity', actor: 'agent', detail: { step: seq, note: 'working' } };
    if (kind < 0.98) return { ...base, event_type: 'task_submitted', category: 'activity', actor: 'control-plane', detail: { description: 'summarise the open tickets' } };
    return { ...base, event_type: 'task_completed', category: 'activity', actor: 'control-plane', detail: { status: random() < 0.9 ? 'completed' : 'failed' } };
  };
}

if (import.meta.main) {
  const rows = Number(process.argv[2] ?? 1000);
  const next = createSampler({ seed: 7, orgId: '00000000-0000-0000-0000-000000000000', startMicros: Date.UTC(2026, 10, 1) * 1000, stepMicros: 60_000_000, workspaces: 12, users: 5 });
  for (let index = 0; index < rows; index += 1) {
    const { org_id: _org, ...row } = next();
    const problems = rowProblems({ ...row, org_id: _org }, { strict: true });
    if (problems.length > 0) throw new Error(`the sampler made a bad row: ${problems.join('; ')}`);
    process.stdout.write(`${JSON.stringify(row)}\n`);
  }
}
