import type { CelType } from './types.ts';
import { openMap, someInner, types, withInner } from './types.ts';

/**
 * Type variables and what they were found to be, for one expression. `dyn` fits everything; a variable takes the more general of the types
 * that it meets. The relation follows cel-go's checker, as its recorded results in the conformance cases show it.
 */
export type Unifier = {
  fresh(): CelType;
  /** Whether a value of type `actual` may stand where `wanted` is asked for. Binds variables only when it answers true. */
  fits(actual: CelType, wanted: CelType): boolean;
  allFit(actual: readonly CelType[], wanted: readonly CelType[]): boolean;
  /** The type of a list that holds both; `dyn` when they have nothing in common. */
  join(previous: CelType, next: CelType): CelType;
  /** With the variables known so far filled in. */
  resolve(type: CelType): CelType;
  /** Nothing but what is known; unknown variables are `dyn`. */
  settle(type: CelType): CelType;
};

export function createUnifier(): Unifier {
  const bindings = new Map<number, CelType>();
  /** What each binding replaced, newest last, so that a failed attempt is undone without copying the rest. */
  const trail: (readonly [id: number, before: CelType | undefined])[] = [];
  let count = 0;

  function set(id: number, type: CelType): void {
    trail.push([id, bindings.get(id)]);
    bindings.set(id, type);
  }

  function resolve(type: CelType): CelType {
    if (type.kind !== 'variable') return withInner(type, resolve);
    const bound = bindings.get(type.id);
    return bound === undefined ? type : resolve(bound);
  }

  /** Follows variables that stand for other variables, to the one that carries the type. */
  function root(type: CelType): CelType {
    let at = type;
    for (let next = at; next.kind === 'variable'; ) {
      at = next;
      const bound = bindings.get(next.id);
      if (bound?.kind !== 'variable') break;
      next = bound;
    }
    return at;
  }

  /** `type` is a root as well. */
  function bind(id: number, type: CelType): boolean {
    if (type.kind === 'variable' && type.id === id) return true;
    const known = bindings.get(id);
    if (known === undefined) {
      if (mentions(resolve(type), id)) return false;
      set(id, type);
      return true;
    }
    const other = type.kind === 'variable' ? bindings.get(type.id) : type;
    if (other === undefined) return type.kind === 'variable' && !mentions(resolve(known), type.id) && link(type.id, id);
    if (!fitsInside(other, known)) return false;
    const general = moreGeneral(other, known);
    if (!mentions(resolve(general), id)) set(id, general);
    return true;
  }

  function link(from: number, to: number): true {
    set(from, { kind: 'variable', id: to });
    return true;
  }

  function fitsInside(given: CelType, asked: CelType): boolean {
    const actual = root(given);
    const wanted = root(asked);
    if (wanted.kind === 'variable') {
      if (bind(wanted.id, actual)) return true;
      if (bindings.has(wanted.id)) return false;
    }
    if (actual.kind === 'variable') return bind(actual.id, wanted);
    if (actual.kind === 'dyn' || wanted.kind === 'dyn') return true;
    if (actual.kind === 'object' && wanted.kind === 'object') return actual.shape === wanted.shape;
    if (actual.kind === 'object') return fitsInside(openMap, wanted);
    if (wanted.kind === 'object') return fitsInside(actual, openMap);
    // Contract-free choice of CEL: null stands for a missing timestamp or duration.
    if (actual.kind === 'null') return wanted.kind === 'null' || wanted.kind === 'timestamp' || wanted.kind === 'duration';
    if (actual.kind === 'list') return wanted.kind === 'list' && fitsInside(actual.element, wanted.element);
    if (actual.kind === 'map') return wanted.kind === 'map' && fitsInside(actual.key, wanted.key) && fitsInside(actual.value, wanted.value);
    if (actual.kind === 'type') return wanted.kind === 'type';
    return actual.kind === wanted.kind;
  }

  function attempt(test: () => boolean): boolean {
    const start = trail.length;
    if (test()) return true;
    while (trail.length > start) {
      const [id, before] = trail.pop() ?? [0, undefined];
      if (before === undefined) bindings.delete(id);
      else bindings.set(id, before);
    }
    return false;
  }

  const unifier: Unifier = {
    fresh: () => ({ kind: 'variable', id: (count += 1) }),
    fits: (actual, wanted) => attempt(() => fitsInside(actual, wanted)),
    allFit: (actual, wanted) => actual.length === wanted.length && attempt(() => actual.every((type, index) => fitsInside(type, wanted[index] ?? types.dyn))),
    join: (previous, next) => (unifier.fits(previous, next) ? moreGeneral(previous, next) : types.dyn),
    resolve,
    settle: (type) => settled(resolve(type)),
  };
  return unifier;
}

function settled(type: CelType): CelType {
  return type.kind === 'variable' ? types.dyn : withInner(type, settled);
}

function moreGeneral(one: CelType, other: CelType): CelType {
  return asGeneral(one, other) ? one : other;
}

function asGeneral(one: CelType, other: CelType): boolean {
  if (one.kind === 'dyn' || one.kind === 'variable') return true;
  if (other.kind === 'dyn' || other.kind === 'variable') return false;
  if (one.kind === 'list' && other.kind === 'list') return asGeneral(one.element, other.element);
  if (one.kind === 'map' && other.kind === 'map') return asGeneral(one.key, other.key) && asGeneral(one.value, other.value);
  // A null that met a timestamp is a timestamp.
  return one.kind === other.kind || other.kind === 'null';
}

function mentions(type: CelType, id: number): boolean {
  return type.kind === 'variable' ? type.id === id : someInner(type, (inner) => mentions(inner, id));
}
