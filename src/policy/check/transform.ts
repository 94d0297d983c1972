import type { DocumentNode, ListNode } from '../document/node.ts';
import { nearest } from '../document/nearest.ts';
import type { AllowRule, Transform } from '../model.ts';
import type { Reporter } from '../problem.ts';
import type { CheckBudget } from './check-budget.ts';
import type { Fields, Shape } from './fields.ts';
import { openFields, shown } from './fields.ts';
import { checkIdentifier } from './identifier.ts';
import { enumOf, stringsOf } from './strings.ts';
import { checkVariant, variantKinds } from './transform-variant.ts';
import type { VariantKind } from './transform-variant.ts';

const shape: Shape = { name: 'string', direction: 'string', applies_to: 'list', requires_body: 'boolean', header: 'map', path: 'map', query: 'map', body: 'map', auth: 'map' };

export type TransformContext = {
  readonly capability: string;
  /** Rules without problems. */
  readonly rules: readonly AllowRule[];
  /** Names of all rules, also of those with problems: a name of such a rule is not unknown. */
  readonly ruleNames: ReadonlySet<string>;
  readonly budget: CheckBudget;
};

/** Names that a mistyped one is compared with. */
const suggestedFromMax = 200;

type Suggest = (name: string) => string | undefined;

/** `transforms` of a capability (contract 2.7, TransformRule). Those with a problem are left out. */
export function checkTransforms(list: ListNode | undefined, context: TransformContext, reporter: Reporter): readonly Transform[] {
  const known = [...context.ruleNames].slice(0, suggestedFromMax);
  const suggest: Suggest = (name) => (context.budget.suggestion() ? nearest(name, known) : undefined);
  const transforms = (list?.items ?? []).map((item, index) => checkTransform(item, index, context, suggest, reporter));
  return Object.freeze(transforms.filter((transform) => transform !== undefined));
}

function checkTransform(node: DocumentNode, index: number, context: TransformContext, suggest: Suggest, reporter: Reporter): Transform | undefined {
  const fields = openFields(node, 'a transform', shape, reporter);
  if (fields === undefined) return undefined;
  const nameField = fields.string('name');
  const named = nameField === undefined ? !fields.has('name') : checkIdentifier(nameField, 'transform name', reporter);
  const directed = checkDirection(fields, reporter);
  const appliesTo = checkAppliesTo(fields, context.ruleNames, suggest, reporter);
  const kinds = variantsOf(fields, reporter);
  const requiresBody = checkRequiresBody(fields, kinds, reporter);
  const targets = targetsOf(appliesTo, context.rules);
  const checked = kinds.map((kind) => {
    const reads = kind === 'body' || (kind === 'auth' ? false : requiresBody);
    const formatted = reads !== true || checkFormats(fields, kind, targets, reporter);
    const variantNode = fields.map(kind);
    const variant = variantNode === undefined ? undefined : checkVariant(kind, variantNode, { targets, requiresBody: reads, budget: context.budget }, reporter);
    return formatted && variant !== undefined && reads !== undefined ? { variant, reads } : undefined;
  });
  const [only] = checked;
  if (checked.length !== 1 || only === undefined || !named || !directed || appliesTo.broken || requiresBody === undefined) return undefined;
  const name = nameField?.value;
  return Object.freeze({
    path: node.path, position: node.position, capability: context.capability, name, id: name ?? `transform[${index}]`, index,
    appliesTo: Object.freeze([...appliesTo.names]), requiresBody: only.reads, variant: Object.freeze(only.variant),
  });
}

function checkDirection(fields: Fields, reporter: Reporter): boolean {
  const field = fields.string('direction');
  if (field === undefined) return !fields.has('direction');
  if (field.value !== 'response') return enumOf(field, 'direction', ['', 'request'] as const, reporter) !== undefined;
  reporter.problem('transform_direction_response', field, 'direction: response is not supported', { hint: 'transforms change requests; leave direction out' });
  return false;
}

/** `broken`: some of it could not be read or is unknown, so what is left is not what was meant; empty does not mean all rules then. */
type AppliesTo = { readonly names: ReadonlySet<string>; readonly broken: boolean };

function checkAppliesTo(fields: Fields, ruleNames: ReadonlySet<string>, suggest: Suggest, reporter: Reporter): AppliesTo {
  const list = fields.list('applies_to');
  const targets = stringsOf(list, 'a rule name', reporter);
  const unknown = targets.filter((target) => !ruleNames.has(target.value));
  for (const target of unknown) {
    const near = suggest(target.value);
    reporter.problem('applies_to_unknown', target, `no allow rule of the capability is named ${shown(target.value)}`, near === undefined ? {} : { hint: `did you mean ${near}?` });
  }
  const read = list === undefined ? !fields.has('applies_to') : targets.length === list.items.length;
  return { names: new Set(targets.map((target) => target.value)), broken: !read || unknown.length > 0 };
}

function targetsOf({ names, broken }: AppliesTo, rules: readonly AllowRule[]): readonly AllowRule[] {
  if (names.size === 0) return broken ? [] : rules;
  return rules.filter((rule) => rule.name !== undefined && names.has(rule.name));
}

/** The variants that are there. More than one is a problem, and each is checked all the same. */
function variantsOf(fields: Fields, reporter: Reporter): readonly VariantKind[] {
  const present = variantKinds.filter((kind) => fields.has(kind));
  if (present.length === 0) reporter.problem('transform_no_variant', fields.node, `a transform needs one of ${variantKinds.join(', ')}`);
  if (present.length > 1) reporter.problem('transform_many_variants', fields.node, `a transform has one variant, not ${present.join(' and ')}`, { hint: 'write one transform for each: they run in order' });
  return present;
}

/** What the document asks for; undefined when it is neither true nor false. */
function checkRequiresBody(fields: Fields, kinds: readonly VariantKind[], reporter: Reporter): boolean | undefined {
  const asked = fields.has('requires_body') ? fields.boolean('requires_body') : false;
  if (asked === true && kinds.length === 1 && kinds[0] === 'auth') {
    reporter.problem('requires_body_not_allowed', fields.placeOf('requires_body'), 'an auth transform takes no requires_body');
    return undefined;
  }
  return asked;
}

/** Whatever reads the body needs it parsed, on each rule it applies to. */
function checkFormats(fields: Fields, kind: VariantKind, targets: readonly AllowRule[], reporter: Reporter): boolean {
  const place = fields.any(kind === 'body' ? 'body' : 'requires_body') ?? fields.node;
  const raw = targets.filter((rule) => rule.requestFormat === '');
  for (const rule of raw) reporter.problem('request_format_required', place, `the transform reads the body: rule ${rule.id} needs request_format: application/json`);
  return raw.length === 0;
}
