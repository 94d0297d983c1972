import type { AllowRule, Policy } from '../model.ts';
import type { Reporter } from '../problem.ts';
import { tryOrder } from '../compile/try-order.ts';
import type { Work } from './overlap.ts';
import { ruleCovers, rulesOverlap } from './overlap.ts';

const workMax = 3_000_000;
const pairsMax = 100;

/** Warning 4 of contract 2.7, and rules that an earlier one makes useless. Rules of different hosts are never compared. */
export function warnOfPairs(document: Policy, reporter: Reporter): void {
  const rules = document.capabilities.flatMap(({ allow }) => allow).sort(tryOrder);
  const work: Work = { left: workMax };
  let reported = 0;
  for (const [later, rule] of rules.entries()) {
    for (const earlier of comparable(rules, later, rule)) {
      if (work.left < 0 || reported >= pairsMax) {
        reporter.warning('ambiguous_rules', { path: 'capabilities', position: undefined }, 'further pairs of rules were not compared');
        return;
      }
      if (!rulesOverlap(earlier, rule, work)) continue;
      reported += 1;
      reporter.warning('ambiguous_rules', rule, `${titleOf(earlier)} and ${titleOf(rule)} admit the same domain, method and path; ${titleOf(earlier)} is tried first`);
      if (ruleCovers(earlier, rule)) {
        reporter.warning('rule_unreachable', rule, `no request reaches ${titleOf(rule)}: ${titleOf(earlier)} admits all of them first`, { hint: 'rules are tried in the order of capability name, rule name, position' });
        break;
      }
    }
  }
}

/** Earlier rules that can share a host: both exact and equal, or one with a wildcard. */
function comparable(rules: readonly AllowRule[], later: number, rule: AllowRule): readonly AllowRule[] {
  const hosts = new Set(rule.domains.map(({ labels }) => labels.join('.')));
  const wild = rule.domains.some(({ wildcard }) => wildcard);
  return rules.slice(0, later).filter((earlier) => wild || earlier.domains.some(({ wildcard, labels }) => wildcard || hosts.has(labels.join('.'))));
}

function titleOf(rule: AllowRule): string {
  return `rule ${rule.capability}/${rule.id}`;
}
