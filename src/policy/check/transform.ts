import type { DocumentNode, ListNode } from '../document/node.ts';
import { nearest } from '../document/nearest.ts';
import type { AllowRule, Transform, TransformVariant } from '../model.ts';
import type { Reporter } from '../problem.ts';
import type { Fields, Shape } from './fields.ts';
import { openFields, shown } from './fields.ts';
import { checkIdentifier } from './identifier.ts';
import { enumOf, stringsOf } from './strings.ts';
import { checkVariant } from './transform-variant.ts';

const variants = ['header', 'path', 'query', 'body', 'auth'] as const;
export type VariantKind = (typeof variants)[number];

const shape: Shape = { name: 'string', direction: 'string', applies_to: 'list', requires_body: 'boolean', header: 'map', path: 'map', query: 'map', body: 'map', auth: 'map' };

export type TransformContext = {
  readonly capability: string;
  /** Rules without problems. */
  readonly rules: readonly AllowRule[];
  /** Names of all rules, also of those with problems. */
  readonly ruleNames: ReadonlySet<string>;
  readonly rulesComplete: boolean;
};

/** `transforms` of a capability (contract 2.7, TransformRule). Those with a problem are left out. */
export function checkTransforms(list: ListNode | undefined, context: TransformContext, reporter: Reporter): readonly Transform[] {
  return (list?.items ?? []).map((item, index) => checkTransform(item, index, context, reporter)).filter((transform): transform is Transform => transform !== undefined);
}

function checkTransform(node: DocumentNode, index: number, context: TransformContext, reporter: Reporter): Transform | undefined {
  const fields = openFields(node, 'a transform', shape, reporter);
  if (fields === undefined) return undefined;
  const nameField = fields.string('name');
  const named = nameField === undefined ? !fields.has('name') : checkIdentifier(nameField, 'transform name', reporter);
  checkDirection(fields, reporter);
  const appliesTo = checkAppliesTo(fields, context, reporter);
  const kind = variantOf(fields, reporter);
  if (kind === undefined) return undefined;
  const requiresBody = checkRequiresBody(fields, kind, reporter);
  const targets = context.rules.filter((rule) => appliesTo.length === 0 || (rule.name !== undefined && appliesTo.includes(rule.name)));
  if (requiresBody) checkFormats(fields, kind, targets, reporter);
  const variantNode = fields.map(kind);
  const variant: TransformVariant | undefined = variantNode === undefined ? undefined : checkVariant(kind, variantNode, { targets, requiresBody }, reporter);
  if (variant === undefined || !named) return undefined;
  const name = nameField?.value;
  return Object.freeze({
    path: node.path, position: node.position, capability: context.capability, name, id: name ?? `transform[${index}]`, index,
    appliesTo: Object.freeze(appliesTo), requiresBody, variant: Object.freeze(variant),
  });
}

function checkDirection(fields: Fields, reporter: Reporter): void {
  const field = fields.string('direction');
  if (field?.value === 'response') reporter.problem('transform_direction_response', field, 'direction: response is not supported', { hint: 'transforms change requests; leave direction out' });
  else if (field !== undefined) enumOf(field, 'direction', ['', 'request'] as const, reporter);
}

function checkAppliesTo(fields: Fields, { ruleNames }: TransformContext, reporter: Reporter): readonly string[] {
  const targets = stringsOf(fields.list('applies_to'), 'a rule name', reporter);
  for (const target of targets) {
    if (ruleNames.has(target.value)) continue;
    const near = nearest(target.value, [...ruleNames]);
    reporter.problem('applies_to_unknown', target, `no allow rule of the capability is named ${shown(target.value)}`, near === undefined ? {} : { hint: `did you mean ${near}?` });
  }
  return targets.map((target) => target.value);
}

function variantOf(fields: Fields, reporter: Reporter): VariantKind | undefined {
  const present = variants.filter((kind) => fields.has(kind));
  if (present.length === 1) return present[0];
  if (present.length === 0) reporter.problem('transform_no_variant', fields.node, `a transform needs one of ${variants.join(', ')}`);
  else reporter.problem('transform_many_variants', fields.node, `a transform has one variant, not ${present.join(' and ')}`);
  return undefined;
}

function checkRequiresBody(fields: Fields, kind: VariantKind, reporter: Reporter): boolean {
  const asked = fields.boolean('requires_body') ?? false;
  if (kind === 'auth' && asked) reporter.problem('requires_body_not_allowed', fields.placeOf('requires_body'), 'an auth transform takes no requires_body');
  return kind === 'body' || (asked && kind !== 'auth');
}

/** Whatever reads the body needs it parsed, on each rule it applies to. */
function checkFormats(fields: Fields, kind: VariantKind, targets: readonly AllowRule[], reporter: Reporter): void {
  for (const rule of targets) {
    if (rule.requestFormat !== '') continue;
    const place = kind === 'body' ? fields.placeOf('body') : fields.placeOf('requires_body');
    reporter.problem('request_format_required', place, `the transform reads the body: rule ${rule.id} needs request_format: application/json`);
  }
}
