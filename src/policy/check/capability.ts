import type { DocumentNode } from '../document/node.ts';
import type { AllowRule, Capability } from '../model.ts';
import type { Reporter } from '../problem.ts';
import { checkAcceptEncoding } from './accept-encoding.ts';
import { checkAllowRule } from './allow-rule.ts';
import type { CheckBudget } from './check-budget.ts';
import { checkCounters } from './counter.ts';
import type { Fields } from './fields.ts';
import { openFields, shown } from './fields.ts';
import { checkIdentifier } from './identifier.ts';
import { enumOf } from './strings.ts';
import { checkTransforms } from './transform.ts';

/** `names` holds those of earlier capabilities, with where they stand. */
export type CapabilityContext = { readonly names: Map<string, DocumentNode>; readonly budget: CheckBudget };

/** One capability (contract 2.7). */
export function checkCapability(node: DocumentNode, { names, budget }: CapabilityContext, reporter: Reporter): Capability | undefined {
  const fields = openFields(node, 'a capability', { name: 'string', type: 'string', allow: 'list', transforms: 'list', budgets: 'map' }, reporter);
  if (fields === undefined || node.kind !== 'map') return undefined;
  fields.needs('name', 'type', 'allow');
  const name = checkName(fields, names, reporter);
  const typeField = fields.string('type');
  if (typeField !== undefined) enumOf(typeField, 'type', ['http'] as const, reporter);

  const capability = name ?? '';
  const allowList = fields.list('allow');
  if (allowList?.items.length === 0) reporter.problem('empty_list', allowList, 'allow needs at least one rule');
  const rules = (allowList?.items ?? []).map((item, index) => checkAllowRule(item, { capability, index }, reporter)).filter((rule): rule is AllowRule => rule !== undefined);
  // Names of rules that have other problems count too: one mistake is one problem.
  const ruleNames = new Set((allowList?.items ?? []).map(nameOf).filter((ruleName) => ruleName !== undefined));
  const transforms = checkTransforms(fields.list('transforms'), { capability, rules, ruleNames, budget }, reporter);
  const counters = checkCounters(countersOf(fields, reporter), { capability }, reporter);
  checkAcceptEncoding(node, reporter);
  if (name === undefined) return undefined;
  return Object.freeze({ path: node.path, position: node.position, name, allow: Object.freeze(rules), transforms: Object.freeze([...transforms]), counters: Object.freeze([...counters]) });
}

function checkName(fields: Fields, names: Map<string, DocumentNode>, reporter: Reporter): string | undefined {
  const field = fields.string('name');
  if (field === undefined || !checkIdentifier(field, 'capability name', reporter)) return undefined;
  const earlier = names.get(field.value);
  if (earlier !== undefined) {
    reporter.problem('duplicate_name', field, `capability name ${shown(field.value)} is used twice${earlier.position === undefined ? '' : `, first in line ${earlier.position.line}`}`);
    return undefined;
  }
  names.set(field.value, field);
  return field.value;
}

function nameOf(node: DocumentNode): string | undefined {
  const name = node.kind === 'map' ? node.get('name') : undefined;
  return name?.kind === 'scalar' && typeof name.value === 'string' ? name.value : undefined;
}

function countersOf(fields: Fields, reporter: Reporter): ReturnType<Fields['list']> {
  const node = fields.map('budgets');
  return node === undefined ? undefined : openFields(node, 'budgets', { counters: 'list' }, reporter)?.list('counters');
}
