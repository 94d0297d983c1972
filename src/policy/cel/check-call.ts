import { nearest } from '../document/nearest.ts';
import { compileRe2 } from '../re2.ts';
import type { Check, Scope } from './check-state.ts';
import type { CallNode } from './node.ts';
import { startOf } from './node.ts';
import { overloads } from './overloads.ts';
import { instantiate } from './signature.ts';
import type { CelType } from './types.ts';
import { typeText, types } from './types.ts';

const macroNames = new Set(['all', 'exists', 'exists_one', 'existsOne', 'filter', 'map']);

/** A function, method or operator: which overload takes these types, and what it gives. */
export function checkCall(check: Check, node: CallNode, scope: Scope | undefined): CelType {
  const secret = secretRead(check, node, scope);
  if (secret !== undefined) return secret;
  const namespace = namespaceOf(node);
  if (namespace !== undefined) check.namespaced.set(node, namespace);
  const name = namespace ?? node.name;
  const target = namespace === undefined ? node.target : undefined;
  const problemsBefore = check.problems.length;
  const targetType = target === undefined ? undefined : check.typeOf(target, scope);
  const targetFailed = check.problems.length > problemsBefore;
  const known = overloads.get(name);
  if (known === undefined) {
    // What a macro's arguments name is not declared anywhere; only the call itself is told.
    if (misusedMacro(check, node)) return types.dyn;
    for (const arg of node.args) check.typeOf(arg, scope);
    // `math.greatest(1, 2)`: that there is no `math` says it.
    if (targetFailed) return types.dyn;
    const close = nearest(name, [...overloads.keys(), ...macroNames, 'has'].filter((other) => /^\w/.test(other)));
    check.report({
      slug: 'undeclared_reference',
      message: `undeclared reference: ${name}`,
      ...(close === undefined ? {} : { hint: `did you mean ${close}()?` }),
      offset: nameOffset(node),
    });
    return types.dyn;
  }
  const args = node.args.map((arg) => check.typeOf(arg, scope));
  if (name === 'matches') checkPattern(check, node);
  return resultType(check, node, name, targetType, args);
}

function resultType(check: Check, node: CallNode, name: string, target: CelType | undefined, args: readonly CelType[]): CelType {
  const actual = target === undefined ? args : [target, ...args];
  let result: CelType | undefined;
  for (const overload of overloads.get(name) ?? []) {
    if ((overload.target === undefined) !== (target === undefined)) continue;
    const { target: wantedTarget, args: wantedArgs, result: given } = instantiate(overload, () => check.unifier.fresh());
    if (!check.unifier.allFit(actual, wantedTarget === undefined ? wantedArgs : [wantedTarget, ...wantedArgs])) continue;
    const type = check.unifier.resolve(given);
    // Several overloads fit (some argument is dyn): certain only if they agree, which the text of a plain type says.
    if (result !== undefined && (result.kind !== type.kind || typeText(result) !== typeText(type) || typeText(type).includes('…'))) return types.dyn;
    result = type;
  }
  if (result !== undefined) return result;
  const texts = actual.map((type) => typeText(check.unifier.settle(type)));
  check.report({ slug: 'cel_type', ...mismatch(node, name, target !== undefined, texts), offset: mismatchOffset(node, texts) });
  return types.dyn;
}

function mismatch(node: CallNode, name: string, method: boolean, actual: readonly string[]): { readonly message: string; readonly hint?: string } {
  if (node.macro !== undefined) return { message: `the condition of ${node.macro}() has to be bool, not ${macroConditionType(node, actual)}` };
  const [first, ...rest] = actual;
  const applied = method ? `${first}.(${rest.join(', ')})` : `(${actual.join(', ')})`;
  const message = `found no matching overload for '${name}' applied to '${applied}'`;
  const hint = hintFor(name, actual);
  return hint === undefined ? { message } : { message, hint };
}

/** What the author wrote stands first in `filter`'s conditional and second in the `||` and `&&` of `exists` and `all`. */
function macroConditionType(node: CallNode, actual: readonly string[]): string {
  return (node.name === '_?_:_' ? actual[0] : actual[1]) ?? 'dyn';
}

function hintFor(name: string, actual: readonly string[]): string | undefined {
  const [left, right] = actual;
  const numeric = new Set(['int', 'uint', 'double']);
  if (left !== undefined && right !== undefined && left !== right && numeric.has(left) && numeric.has(right)) {
    return `convert one side: ${left}(…) or ${right}(…)${left === 'double' || right === 'double' ? ', or write the number as 1.0' : ''}`;
  }
  if (name === '_+_' && (left === 'string' || right === 'string')) return 'numbers join a string as string(…)';
  if (name === '_?_:_' && left !== 'bool') return 'the condition before ? has to be bool';
  return undefined;
}

/** The library gives a whole chain of `&&` one position; the operand that is no bool says more. */
function mismatchOffset(node: CallNode, actual: readonly string[]): number {
  if (node.macro !== undefined || (node.name !== '_&&_' && node.name !== '_||_')) return nameOffset(node);
  const wrong = node.args[actual.findIndex((type) => type !== 'bool' && type !== 'dyn')];
  return wrong === undefined ? node.offset : startOf(wrong);
}

function misusedMacro(check: Check, node: CallNode): boolean {
  const at = { slug: 'cel_syntax', offset: nameOffset(node) } as const;
  if (node.name === 'has' && node.target === undefined) {
    check.report({ ...at, message: 'has() takes one field selection, as in has(request.body.model)', hint: 'for a key that is no name, write "key" in map' });
    return true;
  }
  if (!macroNames.has(node.name) || node.target === undefined) return false;
  check.report({ ...at, message: `${node.name}() takes a plain variable name and an expression, as in list.${node.name}(x, x != "")` });
  return true;
}

/** `secrets["name"]`: the only form (contract 2.7), so that every secret an expression can read is known when it is saved. */
function secretRead(check: Check, node: CallNode, scope: Scope | undefined): CelType | undefined {
  const [operand, key] = node.args;
  if (node.name !== '_[_]' || operand?.kind !== 'identifier' || operand.name !== 'secrets') return undefined;
  for (let at = scope; at !== undefined && !operand.rooted; at = at.parent) if (at.name === 'secrets') return undefined;
  if (!check.variables.has('secrets')) return undefined;
  if (key?.kind === 'literal' && key.literal.type === 'string') {
    check.references.set(operand, { kind: 'variable', name: 'secrets' });
    check.secretKeys.push(key.literal.value);
    return types.string;
  }
  check.report({ slug: 'secret_key_not_literal', message: 'the key of secrets[...] has to be a string written out', offset: key === undefined ? node.offset : startOf(key) });
  return types.dyn;
}

/** `strings.quote(x)`: a function with a dotted name wins over a method of something called `strings`. */
function namespaceOf(node: CallNode): string | undefined {
  if (node.target?.kind !== 'identifier') return undefined;
  const name = `${node.target.name}.${node.name}`;
  return overloads.has(name) ? name : undefined;
}

function checkPattern(check: Check, node: CallNode): void {
  const pattern = node.args.at(-1);
  if (pattern?.kind !== 'literal' || pattern.literal.type !== 'string') return;
  const compiled = compileRe2(pattern.literal.value);
  if ('re2' in compiled) return;
  check.report({ slug: 'cel_invalid_regex', message: `the pattern is not RE2: ${compiled.error}`, hint: 'RE2 has no look-around and no back-references', offset: pattern.offset });
}

/** The library points at the dot of a method call and, for an operator, at the operator. */
function nameOffset(node: CallNode): number {
  return node.target !== undefined ? node.offset + 1 : node.offset;
}
