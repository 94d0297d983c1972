import { setTimeout as sleep } from 'node:timers/promises';
import { admissionCheck } from '../src/policy/compile/static-checks.ts';
import { requestBindings } from '../src/policy/compile/bindings.ts';
import type { CompiledPolicy, PolicyRequest } from '../src/policy/compiled-policy.ts';
import { readPolicyText } from '../src/policy/read-policy.ts';
import { interleaved, median, printTable, quantile } from './table.ts';

const hosts = 100;
const rounds = 15;
const requestsPerRound = 20_000;

/** 200 rules over 100 hosts in 20 capabilities: exact hosts and wildcards, globs, a condition in every fourth, a schema in every fifth. */
export function policyText(seed: number): string {
  const capabilities = Array.from({ length: 20 }, (_, capability) => {
    const rules = Array.from({ length: 10 }, (_, index) => {
      const at = capability * 10 + index;
      const host = at % hosts;
      const domain = host % 10 === 9 ? `"*.zone${host}.example.com"` : `host${host}.example.com`;
      const match = at % 4 === 0 ? `, match: {expr: 'request.headers["x-team"] == "team${at % 7}" || request.path.startsWith("/v${at % 3}/")'}` : '';
      const schema = at % 5 === 0 ? `, request_format: application/json, request_schema: {type: object, required: [id], properties: {id: {type: integer}, name: {type: string, maxLength: ${50 + seed}}}}` : '';
      const methods = at % 5 === 0 ? 'POST' : at % 2 === 0 ? 'GET' : 'GET, POST';
      return `    - {name: rule-${index}, domains: [${domain}], methods: [${methods}], paths: ["/v${at % 3}/**", "/items/*/parts"]${match}${schema}}`;
    });
    return `- name: capability-${capability}\n  type: http\n  allow:\n${rules.join('\n')}\n  transforms:\n    - header: {name: x-agent, action: set, value: workspace.id}\n  budgets:\n    counters:\n      - {name: calls, source: request.count, task: {max: 1000}}\n`;
  });
  return capabilities.join('\n');
}

function compiled(text: string): CompiledPolicy {
  const { policy, problems } = readPolicyText(text);
  if (policy === undefined) throw new Error(JSON.stringify(problems.slice(0, 3)));
  return policy;
}

/** Allowed, denied and unknown ones, one after the other. */
function requests(): readonly PolicyRequest[] {
  return Array.from({ length: 1_000 }, (_, index) => {
    const host = index % (hosts + 10);
    return {
      method: index % 3 === 0 ? 'POST' : 'GET', scheme: 'https', host: host % 10 === 9 ? `a${index}.zone${host}.example.com` : `host${host}.example.com`, port: 443,
      path: index % 7 === 0 ? '/none' : index % 2 === 0 ? `/items/${index}/parts` : `/v${index % 3}/a/b`, rawQuery: '', headers: new Map([['x-team', `team${index % 7}`], ['accept', '*/*']]), hasBody: index % 3 === 0,
      workspace: { id: 'w', orgId: 'o', role: 'r', environment: 'e' }, task: { id: 't' },
    };
  });
}

/** Tries every rule in order, without an index, until one passes. */
function linear(policy: CompiledPolicy): (request: PolicyRequest) => unknown {
  const checks = policy.rules.map((rule) => admissionCheck(rule));
  return (request) => {
    const bindings = requestBindings(request);
    return checks.find((check) => check(request, bindings).failed === undefined);
  };
}

/** `npm run bench -- policy`: time of one admission and of compiling. No stack: the engine is pure. */
export async function run(): Promise<void> {
  const policy = compiled(policyText(0));
  const all = requests();
  const scan = linear(policy);
  const map = new Map(policy.rules.map((rule) => [rule.domains[0]?.text, rule]));
  const over = (decide: (request: PolicyRequest) => unknown) => async (): Promise<void> => {
    let seen = 0;
    for (let index = 0; index < requestsPerRound; index += 1) if (decide(all[index % all.length] as PolicyRequest) !== undefined) seen += 1;
    if (seen === 0) throw new Error('nothing was decided');
  };
  const times = await interleaved(rounds, { admit: over((request) => policy.admit(request)), scan: over(scan), map: over((request) => map.get(request.host) ?? request) });
  const micros = (list: readonly number[]): number => (median(list) * 1000) / requestsPerRound;
  const base = micros(times.admit);
  printTable(`admission, 200 rules over ${hosts} hosts`, ['way', 'µs', 'of admit'], [['admit', 'index and checks'] as const, ['scan', 'linear scan of the same rules'] as const, ['map', 'bare Map look-up'] as const].map(([name, title]) => [title, micros(times[name]).toFixed(2), (micros(times[name]) / base).toFixed(2)]));

  const compileMs: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    // Another text each time: what is cached by text must not help.
    const text = policyText(round);
    const startedAt = performance.now();
    compiled(text);
    compileMs.push(performance.now() - startedAt);
    await sleep(1);
  }
  printTable('text of 200 rules to a compiled policy', ['', 'ms'], [['first', (compileMs[0] ?? 0).toFixed(1)], ['median', median(compileMs).toFixed(1)], ['p95', quantile(compileMs, 0.95).toFixed(1)]]);
}
