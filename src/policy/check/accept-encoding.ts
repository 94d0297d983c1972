import { compileCel } from '../cel/compile-cel.ts';
import type { DocumentNode, MapNode } from '../document/node.ts';
import type { Problem, Reporter } from '../problem.ts';
import { variantKinds } from './transform-variant.ts';

const headerName = 'accept-encoding';

type Encoder = { readonly node: MapNode; readonly setsIdentity: boolean; readonly appliesTo: ReadonlySet<unknown> };

/**
 * The Accept-Encoding rule (contract 2.7): a capability with a counter that reads response bodies needs a header transform that sets
 * `Accept-Encoding` to the literal `identity`. Looks at the document as written, after its transforms are checked, so that a mistake in
 * the transform or in the counter is reported once, as what it is.
 */
export function checkAcceptEncoding(capability: MapNode, reporter: Reporter): void {
  const budgets = capability.get('budgets');
  const reader = mapsOf(budgets?.kind === 'map' ? budgets.get('counters') : undefined).find(readsBodies);
  if (reader === undefined || mayBeMisread(capability, reporter.problems)) return;
  const encoders = mapsOf(capability.get('transforms')).map(encoderOf).filter((encoder) => encoder !== undefined);
  const setter = encoders.find((encoder) => encoder.setsIdentity);
  if (setter !== undefined) warnOfGaps(mapsOf(capability.get('allow')), encoders, setter, reporter);
  else reporter.problem('accept_encoding_identity_required', reader, 'this counter reads response bodies, which a server may compress', { hint: hintFor(encoders) });
}

function hintFor(encoders: readonly Encoder[]): string {
  return encoders.length === 0
    ? `add to transforms: {header: {name: Accept-Encoding, action: set, value: '"identity"'}}`
    : `the transform of Accept-Encoding must have action: set and value: '"identity"'`;
}

/** Warns of rules without the transform, and of later transforms that undo it: transforms run in order. */
function warnOfGaps(rules: readonly MapNode[], encoders: readonly Encoder[], setter: Encoder, reporter: Reporter): void {
  for (const rule of rules) {
    const name = scalar(rule, 'name');
    const applying = encoders.filter(({ appliesTo }) => appliesTo.size === 0 || (name !== undefined && appliesTo.has(name)));
    const last = applying.at(-1);
    if (!applying.some((encoder) => encoder.setsIdentity)) {
      reporter.warning('accept_encoding_partial', setter.node, 'this transform does not cover every rule: responses of the others may be compressed, and are charged failure_charge');
    } else if (last?.setsIdentity === false) {
      reporter.warning('accept_encoding_partial', last.node, 'this transform changes Accept-Encoding after it was set to identity');
    }
  }
}

function mapsOf(node: DocumentNode | undefined): readonly MapNode[] {
  return node?.kind === 'list' ? node.items.filter((item) => item.kind === 'map') : [];
}

function scalar(node: MapNode, key: string): unknown {
  const value = node.get(key);
  return value?.kind === 'scalar' ? value.value : undefined;
}

function readsBodies(counter: MapNode): boolean {
  const source = scalar(counter, 'source');
  return source === 'response.bytes' || (source === 'response' && scalar(counter, 'requires_body') === true);
}

/** A header transform of Accept-Encoding, whatever it does. */
function encoderOf(node: MapNode): Encoder | undefined {
  const header = node.get('header');
  const name = header?.kind === 'map' ? scalar(header, 'name') : undefined;
  if (header?.kind !== 'map' || typeof name !== 'string' || name.toLowerCase() !== headerName) return undefined;
  const targets = node.get('applies_to');
  const appliesTo = new Set(targets?.kind === 'list' ? targets.items.map((item) => (item.kind === 'scalar' ? item.value : undefined)) : []);
  return { node, appliesTo, setsIdentity: scalar(header, 'action') === 'set' && isIdentity(scalar(header, 'value')) };
}

function isIdentity(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const compiled = compileCel(value, { phase: 'header', result: 'string', requestBody: 'absent' });
  return 'program' in compiled && compiled.program.literal === 'identity';
}

/** Whether a problem that is reported already may be about the transform that is looked for: that one comes first, then. */
function mayBeMisread(capability: MapNode, problems: readonly Problem[]): boolean {
  const list = capability.get('transforms');
  if (list === undefined) return problems.some(({ slug, path }) => slug === 'unknown_field' && path.startsWith(`${capability.path}.`) && !/[.[]/.test(path.slice(capability.path.length + 1)));
  if (list.kind !== 'list') return true;
  return list.items.some((item) => (mentionsHeader(item) || !isRecognised(item)) && problems.some(({ path }) => isWithin(path, item)));
}

/** Whether the header's name stands anywhere in it: what was meant may be in the wrong place, or misspelt around it. */
function mentionsHeader(node: DocumentNode): boolean {
  if (node.kind === 'scalar') return typeof node.value === 'string' && node.value.toLowerCase().includes(headerName);
  return node.kind === 'list' ? node.items.some(mentionsHeader) : node.entries.some(({ value }) => mentionsHeader(value));
}

/** Whether one can tell that it is a transform of something else. */
function isRecognised(item: DocumentNode): boolean {
  if (item.kind !== 'map') return false;
  const header = item.get('header');
  if (header === undefined) return variantKinds.some((kind) => item.get(kind) !== undefined);
  return header.kind === 'map' && typeof scalar(header, 'name') === 'string';
}

function isWithin(path: string, node: DocumentNode): boolean {
  return path === node.path || path.startsWith(`${node.path}.`) || path.startsWith(`${node.path}[`);
}
