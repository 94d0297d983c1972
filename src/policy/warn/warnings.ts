import { hasValue } from '../compile/references.ts';
import type { KnownNames } from '../known-names.ts';
import type { AllowRule, Capability, Counter, Placed, Policy, Transform } from '../model.ts';
import type { ProblemSlug } from '../problem-slugs.ts';
import type { Reporter } from '../problem.ts';
import { warnOfPairs } from './rule-pairs.ts';

/** Save-time warnings about a document as a whole (contract 2.7): the four it names, and what else a reviewer would ask about. */
export function reportWarnings(document: Policy, reporter: Reporter, known: KnownNames = {}): void {
  for (const capability of document.capabilities) {
    for (const rule of capability.allow) warnOfRule(rule, reporter);
    for (const counter of capability.counters) warnOfCounter(counter, reporter);
    for (const transform of capability.transforms) warnOfTransform(transform, capability, known, reporter);
    warnOfRepeats(capability.allow, 'duplicate_rule_name', 'rule name', 'transforms that apply to it apply to all of them', reporter);
    warnOfRepeats(capability.transforms, 'duplicate_transform_name', 'transform name', 'their failures share one key in audit rows', reporter);
  }
  warnOfPairs(document, reporter);
}

function warnOfRule(rule: AllowRule, reporter: Reporter): void {
  const bodyless = rule.methods.filter((method) => method === 'GET' || method === 'HEAD');
  if (rule.schema !== undefined && bodyless.length > 0) {
    reporter.warning('schema_on_bodyless_method', rule, `${bodyless.join(' and ')} requests have no body that request_schema could admit: they fall through to other rules or no_match`);
  }
  const bodied = rule.methods.filter((method) => method === 'POST' || method === 'PUT' || method === 'PATCH');
  if (rule.schema === undefined && bodied.length > 0) {
    reporter.warning('body_rule_without_schema', rule, `${bodied.join(', ')} without request_schema: body fields in transforms cannot be type-checked`);
  }
}

function warnOfCounter(counter: Counter, reporter: Reporter): void {
  if (counter.workspace === undefined && counter.task === undefined && counter.maxConcurrent === 0) {
    reporter.warning('counter_measures_only', counter, `counter ${counter.name} has no workspace, no task and no max_concurrent: it measures and enforces nothing`);
  }
  // Interim answers are not what a counter sees, and these two have no body.
  const reads = counter.source === 'response.bytes' || counter.requiresBody;
  const impossible = counter.statusCodes.filter(({ from, to }) => to < 200 || (reads && from === to && (from === 204 || from === 304)));
  if (impossible.length > 0) {
    const codes = impossible.map(({ from, to }) => (from === to ? String(from) : `${from / 100}xx`)).join(', ');
    reporter.warning('status_codes_impossible', counter, `counter ${counter.name} can never see ${codes}${reads ? ' with a body' : ''}`);
  }
  const { workspace, task } = counter;
  if (workspace === undefined || task === undefined || workspace.max === 0n) return;
  if (task.max === 0n) reporter.warning('task_scope_never_binds', task, 'task.max 0 is unlimited: the workspace ceiling is always reached first');
  // A workspace that never resets has counted at least what any of its tasks has.
  else if (task.max === workspace.max && workspace.ttlMs === undefined) reporter.warning('task_scope_never_binds', task, 'the workspace ceiling is the same and never resets: no task reaches its own first');
}

function warnOfTransform(transform: Transform, { allow }: Capability, { secrets, credentials }: KnownNames, reporter: Reporter): void {
  const rules = allow.filter((rule) => transform.appliesTo.length === 0 || (rule.name !== undefined && transform.appliesTo.includes(rule.name)));
  const { variant } = transform;
  if (rules.length === 0 || (variant.kind === 'body' && rules.every(({ methods }) => methods.every((method) => method === 'GET' || method === 'HEAD')))) {
    reporter.warning('transform_never_applies', transform, `${transform.id} applies to no request: ${rules.length === 0 ? 'no rule is left for it' : 'its rules admit no request with a body'}`);
  }
  if (variant.kind === 'auth' && credentials !== undefined && !credentials.has(variant.credential)) {
    reporter.warning('unknown_credential', transform, `credential ${JSON.stringify(variant.credential)} does not exist (yet)`);
  }
  if (secrets === undefined || !hasValue(variant)) return;
  const missing = new Set(rules.flatMap((rule) => variant.value(rule).secretKeys).filter((key) => !secrets.has(key)));
  for (const key of missing) reporter.warning('unknown_secret', transform, `secret ${JSON.stringify(key)} does not exist (yet)`);
}

function warnOfRepeats(items: readonly (Placed & { readonly name: string | undefined })[], slug: ProblemSlug, what: string, consequence: string, reporter: Reporter): void {
  const seen = new Set<string>();
  for (const item of items) {
    if (item.name === undefined) continue;
    if (seen.has(item.name)) reporter.warning(slug, item, `${what} ${JSON.stringify(item.name)} is used twice in the capability: ${consequence}`);
    seen.add(item.name);
  }
}
