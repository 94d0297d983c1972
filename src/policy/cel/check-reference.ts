import { nearest } from '../document/nearest.ts';
import type { Check, Reference, Scope } from './check-state.ts';
import type { CelNode, HasNode, IdentifierNode, SelectNode } from './node.ts';
import { startOf } from './node.ts';
import { contractVariables } from './phase-variables.ts';
import type { CelType, ObjectShape } from './types.ts';
import { typeNames, typeText, types } from './types.ts';

/** A name or a field of something. The longest dotted name that is declared wins, as in CEL's name resolution; loop variables win over all. */
export function checkReference(check: Check, node: IdentifierNode | SelectNode, scope: Scope | undefined): CelType {
  const chain = chainOf(node);
  const local = chain === undefined || chain.rooted ? undefined : localNamed(scope, chain.names[0] ?? '');
  if (node.kind === 'identifier' && local !== undefined) {
    check.references.set(node, { kind: 'local', slot: local.slot });
    return local.type;
  }
  if (chain !== undefined && local === undefined) {
    const found = declared(check, chain.names.join('.'));
    if (found !== undefined) return use(check, node, found, chain.offset);
    const length = chain.names.findIndex((_name, index) => declared(check, chain.names.slice(0, index + 1).join('.')) !== undefined);
    if (length < 0 || node.kind === 'identifier') return undeclared(check, chain);
  }
  return node.kind === 'identifier' ? types.dyn : fieldType(check, node, check.typeOf(node.operand, scope));
}

/** `has(a.b)`: presence of a field, or of a whole declared variable. What is inside is checked like everything else. */
export function checkHas(check: Check, node: HasNode, scope: Scope | undefined): CelType {
  const chain = chainOf(node.operand);
  if (chain !== undefined && (chain.rooted || localNamed(scope, chain.names[0] ?? '') === undefined)) {
    const names = [...chain.names, node.field];
    const found = declared(check, names.join('.'));
    if (found?.reference.kind === 'variable') {
      check.references.set(node, found.reference);
      return types.bool;
    }
    const known = chain.names.some((_name, index) => declared(check, names.slice(0, index + 1).join('.')) !== undefined);
    if (!known) {
      undeclared(check, { ...chain, names });
      return types.bool;
    }
  }
  fieldType(check, node, check.typeOf(node.operand, scope));
  return types.bool;
}

type Chain = { readonly names: readonly string[]; readonly rooted: boolean; readonly offset: number };

function chainOf(node: CelNode): Chain | undefined {
  if (node.kind === 'identifier') return { names: [node.name], rooted: node.rooted, offset: node.offset };
  if (node.kind !== 'select') return undefined;
  const operand = chainOf(node.operand);
  return operand === undefined ? undefined : { ...operand, names: [...operand.names, node.field] };
}

function localNamed(scope: Scope | undefined, name: string): Scope | undefined {
  for (let at = scope; at !== undefined; at = at.parent) if (at.name === name) return at;
  return undefined;
}

type Found = { readonly reference: Reference; readonly type: CelType };

function declared(check: Check, name: string): Found | undefined {
  const variable = check.variables.get(name);
  if (variable !== undefined) return { reference: { kind: 'variable', name }, type: variable };
  const type = typeNames.get(name);
  return type === undefined ? undefined : { reference: { kind: 'type', name }, type: { kind: 'type', of: type } };
}

function use(check: Check, node: CelNode, found: Found, offset: number): CelType {
  check.references.set(node, found.reference);
  if (found.reference.kind === 'variable' && found.reference.name === 'secrets') {
    check.report({ slug: 'secret_key_not_literal', message: 'secrets can only be read as secrets["name"] with the name written out', offset });
    return types.dyn;
  }
  return found.type;
}

/** Names the chain as written, up to the first part that nothing declared starts with. */
function undeclared(check: Check, chain: Chain): CelType {
  let length = 1;
  while (length < chain.names.length && startsSomething(check, chain.names.slice(0, length).join('.'))) length += 1;
  const name = chain.names.slice(0, length).join('.');
  const hint = hintFor(check, name);
  check.report({ slug: 'undeclared_reference', message: `undeclared reference: ${name}`, ...(hint === undefined ? {} : { hint }), offset: chain.offset });
  return types.dyn;
}

function startsSomething(check: Check, prefix: string): boolean {
  return [...check.variables.keys(), ...contractVariables].some((name) => name.startsWith(`${prefix}.`));
}

function hintFor(check: Check, name: string): string | undefined {
  if (name === 'request.body') return 'the body is in scope where requires_body: true is set and the rule reads it as application/json';
  if (contractVariables.has(name)) return `${name} is not available in this kind of expression`;
  const inside = [...check.variables.keys()].filter((variable) => variable.startsWith(`${name}.`));
  if (inside.length > 0) return `${name} is no value by itself; it has ${inside.join(', ')}`;
  const close = nearest(name, [...check.variables.keys()]);
  return close === undefined ? undefined : `did you mean ${close}?`;
}

function fieldType(check: Check, node: SelectNode | HasNode, operand: CelType): CelType {
  const type = check.unifier.resolve(operand);
  if (type.kind === 'dyn' || type.kind === 'variable') return types.dyn;
  if (type.kind === 'object') return type.shape.fields.get(node.field) ?? type.shape.rest ?? undeclaredProperty(check, node, type.shape);
  const text = typeText(check.unifier.settle(type));
  if (type.kind !== 'map') {
    check.report({ slug: 'cel_type', message: `type ${text} does not support field selection`, offset: node.offset });
  } else if (check.unifier.fits(types.string, type.key)) {
    return type.value;
  } else {
    check.report({ slug: 'cel_type', message: `a ${text} has no field "${node.field}": its keys are no strings`, offset: node.offset });
  }
  return types.dyn;
}

function undeclaredProperty(check: Check, node: SelectNode | HasNode, shape: ObjectShape): CelType {
  const close = nearest(node.field, [...shape.fields.keys()]);
  check.report({
    slug: 'undeclared_reference',
    message: `undeclared reference: ${pathText(node)}`,
    hint: close === undefined ? 'the schema declares no such property and allows no others' : `did you mean ${close}?`,
    offset: startOf(node.operand),
  });
  return types.dyn;
}

/** As the user wrote it, as far as names and literal indexes go. */
function pathText(node: CelNode): string {
  if (node.kind === 'identifier') return node.name;
  if (node.kind === 'select' || node.kind === 'has') return `${pathText(node.operand)}.${node.field}`;
  if (node.kind !== 'call' || node.name !== '_[_]') return '…';
  const [operand, index] = node.args;
  if (operand === undefined || index?.kind !== 'literal') return '…';
  const { type, value } = index.literal;
  return `${pathText(operand)}[${type === 'string' ? `"${value}"` : String(value)}]`;
}
