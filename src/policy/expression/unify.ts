import type { Type } from './types.ts';
import { T } from './types.ts';

/** Type variables of one expression and what they turned out to be. */
export class Unifier {
  readonly #bound = new Map<number, Type>();
  #next = 0;

  fresh(): Type {
    this.#next += 1;
    return { kind: 'var', id: this.#next };
  }

  /** The type with everything known put in; unknown variables stay. */
  resolve(type: Type): Type {
    if (type.kind === 'var') {
      const bound = this.#bound.get(type.id);
      return bound === undefined ? type : this.resolve(bound);
    }
    return mapped(type, (inner) => this.resolve(inner));
  }

  /** As resolve, with dyn for what nothing decided. */
  final(type: Type): Type {
    const resolved = this.resolve(type);
    return resolved.kind === 'var' ? T.dyn : mapped(resolved, (inner) => this.final(inner));
  }

  /** All of them or none: an overload that does not fit must leave no trace. */
  assignableAll(to: readonly Type[], from: readonly Type[]): boolean {
    const before = new Map(this.#bound);
    if (to.length === from.length && to.every((type, index) => this.assignable(type, from[index] ?? T.error))) return true;
    this.#bound.clear();
    for (const [id, type] of before) this.#bound.set(id, type);
    return false;
  }

  /** Whether a value of `from` may stand where `to` is wanted; binds variables on the way. */
  assignable(to: Type, from: Type): boolean {
    const target = this.resolve(to);
    const source = this.resolve(from);
    if (target.kind === 'var') return this.#bind(target.id, source);
    if (source.kind === 'var') return this.#bind(source.id, target);
    if (isAny(target) || isAny(source)) return true;
    if (target.kind === 'object' && source.kind === 'object') return true;
    if (source.kind === 'object') return this.assignable(target, T.map(T.string, T.dyn));
    if (target.kind === 'object') return this.assignable(T.map(T.string, T.dyn), source);
    if (target.kind === 'list') return source.kind === 'list' && this.assignable(target.element, source.element);
    if (target.kind === 'map') return source.kind === 'map' && this.assignable(target.key, source.key) && this.assignable(target.value, source.value);
    // A null stands for a time that is not there, as in a protobuf message.
    if (source.kind === 'null' && (target.kind === 'timestamp' || target.kind === 'duration')) return true;
    return target.kind === source.kind;
  }

  #bind(id: number, type: Type): boolean {
    if (type.kind === 'var' && type.id === id) return true;
    if (this.#occurs(id, type)) return false;
    this.#bound.set(id, type);
    return true;
  }

  #occurs(id: number, type: Type): boolean {
    const resolved = this.resolve(type);
    if (resolved.kind === 'var') return resolved.id === id;
    if (resolved.kind === 'list') return this.#occurs(id, resolved.element);
    return resolved.kind === 'map' && (this.#occurs(id, resolved.key) || this.#occurs(id, resolved.value));
  }

  /** The type of several values in one place: theirs where they agree, dyn otherwise. */
  join(types: readonly Type[]): Type {
    const [first, ...rest] = types;
    if (first === undefined) return this.fresh();
    let joined = first;
    for (const type of rest) {
      if (isAny(this.resolve(joined)) || isAny(this.resolve(type))) joined = T.dyn;
      else if (!this.assignableAll([joined], [type])) {
        if (!this.assignableAll([type], [joined])) return T.dyn;
        joined = type;
      }
    }
    return joined;
  }
}

function isAny(type: Type): boolean {
  return type.kind === 'dyn' || type.kind === 'error';
}

function mapped(type: Type, change: (inner: Type) => Type): Type {
  if (type.kind === 'list') return T.list(change(type.element));
  if (type.kind === 'map') return T.map(change(type.key), change(type.value));
  return type.kind === 'type' && type.of !== undefined ? T.type(change(type.of)) : type;
}

/** An overload's types with fresh variables for its parameters. */
export function instantiate(types: readonly Type[], unifier: Unifier): readonly Type[] {
  const variables = new Map<string, Type>();
  const replace = (type: Type): Type => {
    if (type.kind !== 'param') return mapped(type, replace);
    const known = variables.get(type.name) ?? unifier.fresh();
    variables.set(type.name, known);
    return known;
  };
  return types.map(replace);
}
