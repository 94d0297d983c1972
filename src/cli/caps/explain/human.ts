import type { PolicyRequest } from '../../../policy/compiled-policy.ts';
import type { AllowRule } from '../../../policy/model.ts';
import type { Screen } from '../../audit/table.ts';
import { plain, tint } from '../../audit/table.ts';
import { ceilingText, chargeOf } from './charges.ts';
import { checkText } from './check-text.ts';
import type { DescribedRequest } from './described-request.ts';
import type { Evaluated, Judgement } from './judge.ts';
import { changeOf, targetText, transformKind } from './step-change.ts';

const shownCharactersMax = 400;

/** Texts of requests and policies on a terminal: no control characters, and no page-long bodies. */
function clean(text: string): string {
  const cut = text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}… (${text.length} characters)` : text;
  return plain(cut);
}

export function humanJudgement(screen: Screen, judgement: Judgement, described: DescribedRequest): string {
  const head = `${clean(described.method)} ${clean(described.url)}\n  by ${whoText(described)}\n`;
  if (judgement.decision === 'refused') return `${head}\n${tint(screen, 'red', 'deny')} ${judgement.reason}: refused before any rule is looked at (${judgement.refused})\n`;
  const first = judgement.evaluation.find(({ failed }) => failed === undefined)?.rule;
  const rules = section('Rules, in the order they are tried', ruleLines(screen, judgement.evaluation, first, judgement.request.policy));
  if (judgement.decision === 'deny') {
    const why = judgement.check === undefined ? 'the policy has no rules' : `the rule that got furthest stopped at ${judgement.check}`;
    return `${head}\n${tint(screen, 'red', 'deny')} ${judgement.reason}: ${why}\n${rules}`;
  }
  const { rule, steps, standIns, reservations, sent, request } = judgement;
  const at = rule.position === undefined ? '' : tint(screen, 'dim', ` (line ${rule.position.line})`);
  const transforms = steps.flatMap((step) => {
    const { target, before, after } = changeOf(step, standIns);
    const failed = step.failed === undefined ? '' : `  ${tint(screen, 'yellow', step.failed)}`;
    const unchanged = same(before, after) ? `  stays as it is: ${values(before)}` : '';
    const change = same(before, after) ? [] : changeLines(values(before), after === undefined ? '(not shown: it depends on the secret)' : values(after));
    return [`  ${clean(step.transform.id)}  ${tint(screen, 'dim', transformKind(step.transform))}  ${clean(targetText(target))}${failed}${unchanged}`, ...change];
  });
  const counters = reservations.flatMap((reservation) => {
    const { counter, effect, now, later } = chargeOf(reservation, sent, request.bodyBytes);
    const taken = effect === 'reserved' ? `${now > 0n ? now : 'nothing'} reserved` : now === 0n && later !== '' ? 'nothing yet' : `+${now} at once`;
    return [`  ${clean(counter.name)}  ${tint(screen, 'dim', counter.source)}  ${taken}  (${ceilingText(counter)})`, ...(later === '' ? [] : [`      then: ${clean(later)}`])];
  });
  return `${head}\n${tint(screen, 'green', 'allow')} by ${clean(rule.capability)} / ${clean(rule.id)}${at}\n${rules}${section('Rewritten on the way out', transforms)}${section('Counters', counters)}`;
}

function whoText({ workspace: { id, orgId, role, environment }, taskId }: DescribedRequest): string {
  const or = (text: string): string => (text === '' ? 'none' : clean(text));
  return `workspace ${or(id)} of ${or(orgId)}, role ${or(role)}, environment ${or(environment)}, task ${or(taskId)}`;
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `\n${title}:\n${lines.join('\n')}\n`;
}

const otherHostsMax = 20;

/** Rules for other hosts are listed while they are few: a large policy is about many hosts. */
function ruleLines(screen: Screen, evaluation: readonly Evaluated[], won: AllowRule | undefined, request: PolicyRequest): readonly string[] {
  const others = evaluation.filter(({ failed }) => failed?.check === 'domain').length;
  if (others <= otherHostsMax) return evaluation.map((one) => ruleLine(screen, one, won === one.rule, request));
  const near = evaluation.filter(({ failed }) => failed?.check !== 'domain');
  return [...near.map((one) => ruleLine(screen, one, won === one.rule, request)), `  ${tint(screen, 'red', '✗')} ${others} rules for other hosts (--format json lists them)`];
}

function ruleLine(screen: Screen, { rule, failed }: Evaluated, won: boolean, request: PolicyRequest): string {
  const name = `${clean(rule.capability)} / ${clean(rule.id)}`;
  if (failed !== undefined) return `  ${tint(screen, 'red', '✗')} ${name}  ${tint(screen, 'dim', failed.check)}: ${clean(checkText(failed, request))}`;
  return won ? `  ${tint(screen, 'green', '✓')} ${name}` : `  ${tint(screen, 'dim', '·')} ${name}  would admit it too, but comes later`;
}

function same(before: readonly string[], after: readonly string[] | undefined): boolean {
  return after !== undefined && JSON.stringify(before) === JSON.stringify(after);
}

const lineCharactersMax = 100;

/** Bodies stand below each other: what differs is easier seen so. */
function changeLines(before: string, after: string): readonly string[] {
  return before.length + after.length <= lineCharactersMax ? [`      ${before} → ${after}`] : [`      ${before}`, `    → ${after}`];
}

function values(texts: readonly string[]): string {
  return texts.length === 0 ? '(none)' : texts.map(clean).join(' | ');
}
