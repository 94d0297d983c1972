import type { CelProblem } from './contract.ts';
import type { CelNode, FoldNode } from './node.ts';
import type { Variables } from './phase-variables.ts';
import type { CelType } from './types.ts';
import type { Unifier } from './unify.ts';

/** What a name or a dotted chain of names stands for. `slot` is the loop variable's own number, so equal names never meet. */
export type Reference =
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'local'; readonly slot: string }
  | { readonly kind: 'type'; readonly name: string };

export type Checked = {
  readonly type: CelType;
  readonly problems: readonly CelProblem[];
  /** By node; also for `has(a.b)` where `a.b` is a variable. A node that is not here is what it looks like. */
  readonly references: ReadonlyMap<CelNode, Reference>;
  /** Calls whose target is a namespace: `strings.quote(x)`. */
  readonly namespaced: ReadonlyMap<CelNode, string>;
  readonly slots: ReadonlyMap<FoldNode, Slots>;
  readonly secretKeys: readonly string[];
};

export type Slots = { readonly variable: string; readonly accumulator: string };

export type Scope = { readonly name: string; readonly slot: string; readonly type: CelType; readonly parent: Scope | undefined };

/** One run of the checker; the functions of the neighbouring files share it. */
export type Check = {
  readonly variables: Variables;
  readonly unifier: Unifier;
  readonly references: Map<CelNode, Reference>;
  readonly namespaced: Map<CelNode, string>;
  readonly secretKeys: string[];
  typeOf(node: CelNode, scope: Scope | undefined): CelType;
  readonly problems: readonly CelProblem[];
  report(problem: CelProblem): void;
};
