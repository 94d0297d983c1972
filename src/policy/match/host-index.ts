import type { AllowRule } from '../model.ts';
import { hostMatches } from './host-pattern.ts';

/** Finds the rules of a host without looking at the others. */
export type HostIndex = { candidates(host: string): readonly AllowRule[] };

type Entry = { readonly rule: AllowRule; readonly order: number };

/**
 * Exact hosts and addresses in one Map, wildcard patterns by the labels behind their last `*` (`*.example.com` under `example.com`); a
 * host is looked up once for itself and once for each of its ends. Answers keep the order of `rules`.
 */
export function createHostIndex(rules: readonly AllowRule[]): HostIndex {
  const exact = new Map<string, Entry[]>();
  const wildcards = new Map<string, Entry[]>();
  for (const [order, rule] of rules.entries()) {
    for (const pattern of rule.domains) {
      if (pattern.wildcard) push(wildcards, fixedEnd(pattern.labels), { rule, order });
      else push(exact, pattern.kind === 'name' ? pattern.labels.join('.') : (pattern.labels[0] ?? ''), { rule, order });
    }
  }
  return {
    candidates(host) {
      const direct = exact.get(host);
      if (wildcards.size === 0) return direct === undefined ? [] : ordered(direct);
      const found: Entry[] = direct === undefined ? [] : [...direct];
      for (const end of endsOf(host)) {
        for (const entry of wildcards.get(end) ?? []) if (entry.rule.domains.some((pattern) => hostMatches(pattern, host))) found.push(entry);
      }
      return ordered(found);
    },
  };
}

function push(map: Map<string, Entry[]>, key: string, entry: Entry): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [entry]);
  else if (known.at(-1)?.order !== entry.order) known.push(entry);
}

function fixedEnd(labels: readonly string[]): string {
  return labels.slice(labels.findLastIndex((label) => label.includes('*')) + 1).join('.');
}

/** `a.b.c` to `b.c`, `c` and ''. */
function endsOf(host: string): readonly string[] {
  const ends: string[] = [];
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) ends.push(host.slice(dot + 1));
  ends.push('');
  return ends;
}

function ordered(entries: readonly Entry[]): readonly AllowRule[] {
  if (entries.length === 1) return entries.map(({ rule }) => rule);
  const sorted = [...entries].sort((a, b) => a.order - b.order);
  return sorted.filter((entry, index) => entry.order !== sorted[index - 1]?.order).map(({ rule }) => rule);
}
