import { checkCall } from './check-call.ts';
import { checkHas, checkReference } from './check-reference.ts';
import type { Check, Checked, Scope, Slots } from './check-state.ts';
import type { CelProblem } from './contract.ts';
import { celLimits } from './limits.ts';
import type { CelNode, FoldNode, MapNode } from './node.ts';
import { accumulatorName } from './node.ts';
import type { Variables } from './phase-variables.ts';
import type { CelType } from './types.ts';
import { listOf, mapOf, typeText, types } from './types.ts';
import { createUnifier } from './unify.ts';

const keyKinds = new Set(['bool', 'int', 'uint', 'string', 'dyn', 'variable']);

/** Types of a whole expression, all problems in one go. What is wrong has type dyn, so one fault is told once. */
export function checkExpression(node: CelNode, variables: Variables): Checked {
  const problems: CelProblem[] = [];
  const slots = new Map<FoldNode, Slots>();
  const check: Check = {
    variables,
    unifier: createUnifier(),
    references: new Map(),
    namespaced: new Map(),
    secretKeys: [],
    typeOf,
    problems,
    report(problem) {
      if (problems.length < celLimits.problems) problems.push(problem);
    },
  };

  function typeOf(inner: CelNode, scope: Scope | undefined): CelType {
    switch (inner.kind) {
      case 'literal':
        return types[inner.literal.type];
      case 'identifier':
      case 'select':
        return checkReference(check, inner, scope);
      case 'has':
        return checkHas(check, inner, scope);
      case 'call':
        return checkCall(check, inner, scope);
      case 'list':
        return listOf(joined(inner.elements, scope));
      case 'map':
        return mapOf(keyType(inner, scope), joined(inner.entries.map(({ value }) => value), scope));
      case 'message':
        check.report({ slug: 'undeclared_reference', message: `undeclared reference: ${inner.name}`, hint: 'message types cannot be built here; maps are written {"key": value}', offset: inner.offset });
        return types.dyn;
      case 'append': {
        const list = typeOf(inner.list, scope);
        const item = listOf(typeOf(inner.item, scope));
        const element = check.unifier.fresh();
        return check.unifier.allFit([list, item], [listOf(element), listOf(element)]) ? listOf(element) : types.dyn;
      }
      case 'fold':
        return foldType(inner, scope);
    }
  }

  function joined(nodes: readonly CelNode[], scope: Scope | undefined): CelType {
    let type: CelType | undefined;
    for (const one of nodes) {
      const next = typeOf(one, scope);
      type = type === undefined ? next : check.unifier.join(type, next);
    }
    return type ?? check.unifier.fresh();
  }

  /** Keys of other types fail at run time at the latest; and types that hold a type twice could grow without bound. */
  function keyType(map: MapNode, scope: Scope | undefined): CelType {
    const type = check.unifier.resolve(joined(map.entries.map(({ key }) => key), scope));
    if (keyKinds.has(type.kind)) return type;
    check.report({ slug: 'cel_type', message: `keys of a map are bool, int, uint or string, not ${typeText(check.unifier.settle(type))}`, offset: map.offset });
    return types.dyn;
  }

  function foldType(fold: FoldNode, scope: Scope | undefined): CelType {
    const number = slots.size;
    const own: Slots = { variable: `@v${number}`, accumulator: `@r${number}` };
    slots.set(fold, own);
    const item = itemType(fold, check.unifier.resolve(typeOf(fold.range, scope)));
    const initial = typeOf(fold.initial, scope);
    const accumulating: Scope = { name: accumulatorName, slot: own.accumulator, type: initial, parent: scope };
    const looping: Scope = { name: fold.variable, slot: own.variable, type: item, parent: accumulating };
    expectBool(fold, typeOf(fold.condition, looping));
    const step = typeOf(fold.step, looping);
    if (!check.unifier.fits(step, initial)) {
      check.report({ slug: 'cel_type', message: `${fold.macro}() cannot collect ${typeText(check.unifier.settle(step))}`, offset: fold.offset });
    }
    return typeOf(fold.result, accumulating);
  }

  function itemType(fold: FoldNode, range: CelType): CelType {
    if (range.kind === 'list') return range.element;
    if (range.kind === 'map') return range.key;
    if (range.kind === 'object') return types.string;
    if (range.kind === 'variable') {
      check.unifier.fits(range, types.dyn);
      return types.dyn;
    }
    if (range.kind === 'dyn') return types.dyn;
    check.report({ slug: 'cel_type', message: `${fold.macro}() goes through lists and maps, not ${typeText(range)}`, offset: fold.offset });
    return types.dyn;
  }

  function expectBool(fold: FoldNode, type: CelType): void {
    if (check.unifier.fits(type, types.bool)) return;
    check.report({ slug: 'cel_type', message: `the condition of ${fold.macro}() has to be bool, not ${typeText(check.unifier.settle(type))}`, offset: fold.offset });
  }

  const type = check.unifier.settle(typeOf(node, undefined));
  return { type, problems, references: check.references, namespaced: check.namespaced, slots, secretKeys: [...new Set(check.secretKeys)] };
}
