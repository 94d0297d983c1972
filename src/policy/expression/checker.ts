import type { CelProblem } from '../cel/contract.ts';
import type { Overload } from './overloads.ts';
import { overloadsOf, typeNames } from './overloads.ts';
import type { Expr, Kind, ParsedExpr } from './syntax.ts';
import { offsetOf } from './syntax.ts';
import type { Type } from './types.ts';
import { T, showType } from './types.ts';
import { Unifier, instantiate } from './unify.ts';

/** Dotted variables to their types: `request.method`, never `request`, so that no expression can hold all of it. */
export type Variables = ReadonlyMap<string, Type>;

export type Checked = {
  readonly type: Type;
  readonly problems: readonly CelProblem[];
  /** Node id to the variable it stands for. */
  readonly references: ReadonlyMap<bigint, string>;
  /** Type of every node, for the conformance tests. */
  readonly types: ReadonlyMap<bigint, Type>;
};

/** Types an expression against an environment (contract 2.7, CEL environments). Everything wrong in it is reported in one go. */
export function checkExpression(parsed: ParsedExpr, variables: Variables): Checked {
  const checker = new Checker(parsed, variables);
  const type = checker.check(parsed.expr);
  return { type: checker.unifier.final(type), problems: checker.problems, references: checker.references, types: checker.types };
}

type Scope = ReadonlyMap<string, Type>;
type ValueOf<C extends Kind['case']> = Extract<Kind, { readonly case: C; readonly value?: unknown }>['value'];

class Checker {
  readonly unifier = new Unifier();
  readonly problems: CelProblem[] = [];
  readonly references = new Map<bigint, string>();
  readonly types = new Map<bigint, Type>();
  readonly #parsed: ParsedExpr;
  readonly #variables: Variables;
  /** First parts of dotted variables: `request`. */
  readonly #roots: ReadonlySet<string>;

  constructor(parsed: ParsedExpr, variables: Variables) {
    this.#parsed = parsed;
    this.#variables = variables;
    this.#roots = new Set([...variables.keys()].filter((name) => name.includes('.')).map((name) => name.slice(0, name.indexOf('.'))));
  }

  check(expr: Expr, scope: Scope = new Map()): Type {
    const type = this.#check(expr, scope);
    this.types.set(expr.id, type);
    return type;
  }

  #problem(slug: CelProblem['slug'], expr: Expr, message: string, hint?: string): Type {
    this.problems.push({ slug, message, offset: offsetOf(this.#parsed, expr), ...(hint === undefined ? {} : { hint }) });
    return T.error;
  }

  #check(expr: Expr, scope: Scope): Type {
    const { exprKind } = expr;
    switch (exprKind.case) {
      case 'constExpr': return this.#constant(exprKind.value.constantKind.case);
      case 'identExpr': return this.#identifier(expr, exprKind.value.name, scope);
      case 'selectExpr': return this.#select(expr, exprKind.value, scope);
      case 'callExpr': return this.#call(expr, exprKind.value, scope);
      case 'listExpr': return T.list(this.unifier.join(exprKind.value.elements.map((element) => this.check(element, scope))));
      case 'structExpr': return this.#map(expr, exprKind.value, scope);
      case 'comprehensionExpr': return this.#comprehension(expr, exprKind.value, scope);
      default: return this.#problem('cel_syntax', expr, 'the expression is incomplete');
    }
  }

  #constant(kind: string | undefined): Type {
    switch (kind) {
      case 'boolValue': return T.bool;
      case 'int64Value': return T.int;
      case 'uint64Value': return T.uint;
      case 'doubleValue': return T.double;
      case 'stringValue': return T.string;
      case 'bytesValue': return T.bytes;
      default: return T.null;
    }
  }

  #undeclared(expr: Expr, name: string): Type {
    return this.#problem('undeclared_reference', expr, `undeclared reference: ${name}`);
  }

  #identifier(expr: Expr, name: string, scope: Scope): Type {
    const local = scope.get(name);
    if (local !== undefined) return local;
    const declared = this.#variables.get(name);
    if (declared !== undefined) {
      this.references.set(expr.id, name);
      return declared;
    }
    return typeNames.get(name) ?? this.#undeclared(expr, name);
  }

  /** `a.b.c` as a name, with the expression `a` stands in; undefined where it is not a chain of names from a global. */
  #dotted(expr: Expr, scope: Scope): { readonly name: string; readonly root: Expr } | undefined {
    if (expr.exprKind.case === 'identExpr') {
      const { name } = expr.exprKind.value;
      return scope.has(name) ? undefined : { name, root: expr };
    }
    if (expr.exprKind.case !== 'selectExpr' || expr.exprKind.value.operand === undefined || expr.exprKind.value.testOnly) return undefined;
    const operand = this.#dotted(expr.exprKind.value.operand, scope);
    return operand === undefined ? undefined : { name: `${operand.name}.${expr.exprKind.value.field}`, root: operand.root };
  }

  #select(expr: Expr, { operand, field, testOnly }: ValueOf<'selectExpr'>, scope: Scope): Type {
    if (operand === undefined) return this.#problem('cel_syntax', expr, 'the expression is incomplete');
    const chain = this.#dotted(operand, scope);
    if (chain !== undefined) {
      const name = `${chain.name}.${field}`;
      const declared = this.#variables.get(name) ?? typeNames.get(name);
      if (declared !== undefined) {
        if (this.#variables.has(name)) this.references.set(expr.id, name);
        return testOnly ? T.bool : declared;
      }
      // `request` alone is no variable; what is missing is request.<field>.
      if (this.#roots.has(chain.name) && !this.#variables.has(chain.name)) return this.#undeclared(chain.root, name);
    }
    const type = this.unifier.resolve(this.check(operand, scope));
    const found = this.#field(expr, type, field, operand, scope);
    return testOnly && found.kind !== 'error' ? T.bool : found;
  }

  #field(expr: Expr, type: Type, field: string, operand: Expr, scope: Scope): Type {
    switch (type.kind) {
      case 'dyn':
      case 'error': return type;
      case 'var': return T.dyn;
      case 'map':
        if (this.unifier.assignable(type.key, T.string)) return type.value;
        return this.#problem('cel_type', expr, `a ${showType(type)} has no field ${field}`);
      case 'object': {
        const found = type.object.field(field);
        if (found !== undefined) return found;
        const chain = this.#dotted(operand, scope);
        return this.#undeclared(chain?.root ?? expr, `${chain?.name ?? showType(type)}.${field}`);
      }
      default: return this.#problem('cel_type', expr, `type '${showType(type)}' does not support field selection`);
    }
  }

  #call(expr: Expr, call: ValueOf<'callExpr'>, scope: Scope): Type {
    const { target, args } = call;
    let name = call.function;
    let isMethod = target !== undefined;
    let operands = target === undefined ? args : [target, ...args];
    // `strings.quote(x)` is a function with a dotted name, not a method.
    const namespaced = target === undefined ? undefined : this.#dotted(target, scope);
    if (namespaced !== undefined && overloadsOf(`${namespaced.name}.${name}`) !== undefined) {
      name = `${namespaced.name}.${name}`;
      isMethod = false;
      operands = args;
    }
    const overloads = overloadsOf(name)?.filter((overload) => overload.method === isMethod);
    if (overloads === undefined || overloads.length === 0) {
      for (const operand of operands) this.check(operand, scope);
      return this.#undeclared(expr, name);
    }
    const types = operands.map((operand) => this.check(operand, scope));
    if (name === '_[_]') {
      const field = this.#constantField(types[0], operands[1], expr, operands[0], scope);
      if (field !== undefined) return field;
    }
    return this.#resolve(expr, name, overloads, types, isMethod);
  }

  /** `body["model"]` is typed as `body.model`. */
  #constantField(operand: Type | undefined, index: Expr | undefined, expr: Expr, on: Expr | undefined, scope: Scope): Type | undefined {
    const type = operand === undefined ? undefined : this.unifier.resolve(operand);
    if (type?.kind !== 'object' || index?.exprKind.case !== 'constExpr' || index.exprKind.value.constantKind.case !== 'stringValue') return undefined;
    return this.#field(expr, type, index.exprKind.value.constantKind.value, on ?? expr, scope);
  }

  #resolve(expr: Expr, name: string, overloads: readonly Overload[], types: readonly Type[], isMethod: boolean): Type {
    const results: Type[] = [];
    for (const overload of overloads) {
      const [result, ...wanted] = instantiate([overload.result, ...overload.args], this.unifier);
      if (result === undefined || !this.unifier.assignableAll(wanted, types)) continue;
      const found = this.unifier.resolve(result);
      if (results.length === 0 || results.some((known) => showType(known) !== showType(found))) results.push(found);
      // With dyn among the arguments several overloads may fit; without, the first one is the only one.
      if (!types.some((type) => isOpen(this.unifier.resolve(type)))) break;
    }
    const [only, ...others] = results;
    if (only !== undefined) return others.length === 0 ? only : T.dyn;
    const shown = types.map((type) => showType(this.unifier.resolve(type)));
    const applied = isMethod ? `${shown[0] ?? ''}.(${shown.slice(1).join(', ')})` : `(${shown.join(', ')})`;
    return this.#problem('cel_type', expr, `found no matching overload for '${name}' applied to '${applied}'`);
  }

  #map(expr: Expr, struct: ValueOf<'structExpr'>, scope: Scope): Type {
    if (struct.messageName !== '') return this.#undeclared(expr, struct.messageName);
    const keys: Type[] = [];
    const values: Type[] = [];
    for (const { keyKind, value } of struct.entries) {
      if (keyKind.case === 'mapKey') keys.push(this.check(keyKind.value, scope));
      if (value !== undefined) values.push(this.check(value, scope));
    }
    return T.map(this.unifier.join(keys), this.unifier.join(values));
  }

  #comprehension(expr: Expr, fold: ValueOf<'comprehensionExpr'>, scope: Scope): Type {
    const { iterRange, accuInit, loopCondition, loopStep, result } = fold;
    if (iterRange === undefined || accuInit === undefined || loopCondition === undefined || loopStep === undefined || result === undefined) return this.#problem('cel_syntax', expr, 'the expression is incomplete');
    if (this.#roots.has(fold.iterVar) || this.#variables.has(fold.iterVar)) return this.#problem('cel_type', expr, `${fold.iterVar} is the name of an input and cannot be a loop variable`, 'choose another name');
    const element = this.#elementOf(this.unifier.resolve(this.check(iterRange, scope)), iterRange);
    const accumulated = this.check(accuInit, scope);
    const outer = new Map(scope).set(fold.accuVar, accumulated);
    const inner = new Map(outer).set(fold.iterVar, element);
    const condition = this.check(loopCondition, inner);
    if (!this.unifier.assignable(T.bool, condition)) this.#problem('cel_type', loopCondition, `expected a bool, found '${showType(this.unifier.resolve(condition))}'`);
    const step = this.check(loopStep, inner);
    if (!this.unifier.assignable(accumulated, step)) this.#problem('cel_type', loopStep, `expected '${showType(this.unifier.resolve(accumulated))}', found '${showType(this.unifier.resolve(step))}'`);
    return this.check(result, outer);
  }

  #elementOf(range: Type, expr: Expr): Type {
    switch (range.kind) {
      case 'list': return range.element;
      case 'map': return range.key;
      case 'object': return T.string;
      case 'dyn':
      case 'error':
      case 'var': return T.dyn;
      default: return this.#problem('cel_type', expr, `expression of type '${showType(range)}' cannot be the range of a comprehension (must be list, map, or dynamic)`);
    }
  }
}

function isOpen(type: Type): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'error':
    case 'var': return true;
    case 'list': return isOpen(type.element);
    case 'map': return isOpen(type.key) || isOpen(type.value);
    default: return false;
  }
}
