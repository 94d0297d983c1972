import { isDeepStrictEqual } from 'node:util';
import { readStrictJson } from '../../../kernel/strict-json.ts';
import type { CompiledPolicy } from '../../../policy/compiled-policy.ts';
import type { AllowRule } from '../../../policy/model.ts';
import { checkText } from '../explain/check-text.ts';
import type { Evaluated, Judgement } from '../explain/judge.ts';
import { judge } from '../explain/judge.ts';
import type { Expectation, PolicyCase, SentExpectation } from './case-model.ts';

/** One thing that is otherwise than expected. Texts for people; `undefined` became `(none)`. */
export type Difference = { readonly what: string; readonly expected: string; readonly got: string };

export type CaseResult = {
  readonly case: PolicyCase;
  /** Empty when the case passes. */
  readonly differences: readonly Difference[];
  /** Why it came so, for a case that failed. */
  readonly because: readonly string[];
  /** The rule that admitted the request. */
  readonly reached: AllowRule | undefined;
};

export async function runCase(policy: CompiledPolicy, policyCase: PolicyCase): Promise<CaseResult> {
  const judgement = await judge(policy, policyCase.request);
  const differences = differencesOf(policyCase.expect, judgement);
  return {
    case: policyCase,
    differences,
    because: differences.length === 0 ? [] : reasonsFor(policyCase.expect, judgement),
    reached: judgement.decision === 'allow' ? judgement.rule : undefined,
  };
}

const none = '(none)';

function compare(what: string, expected: string | undefined, got: string | undefined): readonly Difference[] {
  return expected === undefined || expected === got ? [] : [{ what, expected, got: got ?? none }];
}

function differencesOf(expect: Expectation, judgement: Judgement): readonly Difference[] {
  const decision = judgement.decision === 'allow' ? 'allow' : 'deny';
  if (expect.decision !== decision) return [{ what: 'decision', expected: summaryOf(expect), got: outcomeOf(judgement) }];
  if (expect.decision === 'deny' && judgement.decision !== 'allow') {
    return [
      ...compare('reason', expect.reason, judgement.reason),
      ...compare('check', expect.check, judgement.decision === 'deny' ? judgement.check : undefined),
      ...compare('refused', expect.refused, judgement.decision === 'refused' ? judgement.refused : undefined),
    ];
  }
  if (expect.decision !== 'allow' || judgement.decision !== 'allow') return [];
  return [
    ...compare('capability', expect.capability, judgement.rule.capability),
    ...compare('rule', expect.rule, judgement.rule.id),
    ...sentDifferences(expect.sent, judgement),
    ...failureDifferences(expect.transformsFailed, judgement),
    ...[...expect.counters].flatMap(([name, amount]) => compare(`counters.${name}`, String(amount), judgement.reservations.find(({ counter }) => counter.name === name)?.amount.toString())),
  ];
}

function summaryOf(expect: Expectation): string {
  return [expect.decision, ...(expect.decision === 'allow' ? [[expect.capability, expect.rule].filter((part) => part !== undefined).join(' / ')] : [expect.reason ?? ''])].filter((part) => part !== '').join(' ');
}

function outcomeOf(judgement: Judgement): string {
  return judgement.decision === 'allow' ? `allow ${judgement.rule.capability} / ${judgement.rule.id}` : `deny ${judgement.reason}`;
}

type AllowJudgement = Extract<Judgement, { readonly decision: 'allow' }>;

function sentDifferences(expected: SentExpectation, { sent, standIns }: AllowJudgement): readonly Difference[] {
  const headers = [...expected.headers].flatMap(([wanted, values]) => {
    const got = sent.headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => standIns.shown(value));
    return isDeepStrictEqual([...values], got) ? [] : [{ what: `sent.headers.${wanted}`, expected: listed(values), got: listed(got) }];
  });
  return [...compare('sent.path', expected.path, sent.path), ...compare('sent.query', expected.query, standIns.shown(sent.rawQuery)), ...headers, ...bodyDifferences(expected.body, sent.body, standIns.shown)];
}

function listed(values: readonly string[]): string {
  return values.length === 0 ? none : values.length === 1 ? (values[0] ?? '') : JSON.stringify(values);
}

function bodyDifferences(expected: SentExpectation['body'], body: AllowJudgement['sent']['body'], shown: (text: string) => string): readonly Difference[] {
  if (expected === undefined) return [];
  const got = body.kind === 'buffered' ? shown(body.text) : undefined;
  const gotText = got ?? (body.kind === 'stream' ? '(streamed: neither a rule nor a transform reads it)' : none);
  if ('text' in expected) return compare('sent.body', expected.text, gotText);
  const read = got === undefined ? undefined : readStrictJson(got);
  return read?.ok === true && isDeepStrictEqual(read.value, expected.json) ? [] : [{ what: 'sent.json', expected: JSON.stringify(expected.json), got: gotText }];
}

function failureDifferences(expected: Extract<Expectation, { readonly decision: 'allow' }>['transformsFailed'], { steps }: AllowJudgement): readonly Difference[] {
  if (expected === undefined) return [];
  const got = new Map(steps.flatMap(({ transform, failed }) => (failed === undefined ? [] : [[transform.id, failed] as const])));
  return [...new Set([...expected.keys(), ...got.keys()])].flatMap((id) => (expected.get(id) === got.get(id) ? [] : [{ what: `transforms_failed.${id}`, expected: expected.get(id) ?? none, got: got.get(id) ?? none }]));
}

const reasonsMax = 5;

/** Of the rule that was expected, or of those that saw the host, why they did not admit the request. */
function reasonsFor(expect: Expectation, judgement: Judgement): readonly string[] {
  if (judgement.decision === 'refused') return [`refused before any rule is looked at: ${judgement.refused}`];
  const failed = judgement.evaluation.filter((one): one is Evaluated & { readonly failed: object } => one.failed !== undefined);
  const meant = expect.decision !== 'allow' || (expect.capability === undefined && expect.rule === undefined)
    ? []
    : failed.filter(({ rule }) => (expect.capability ?? rule.capability) === rule.capability && (expect.rule ?? rule.id) === rule.id);
  const relevant = meant.length > 0 ? meant : judgement.decision === 'deny' ? failed.filter(({ failed: { check } }) => check !== 'domain') : [];
  const lines = relevant.map(({ rule, failed: failure }) => `${rule.capability} / ${rule.id}: ${failure.check}: ${checkText(failure, judgement.request.policy)}`);
  if (lines.length === 0 && judgement.decision === 'deny') return [`no rule is for the host ${judgement.request.policy.host}`];
  return lines.length > reasonsMax ? [...lines.slice(0, reasonsMax), `and ${lines.length - reasonsMax} more rules`] : lines;
}
