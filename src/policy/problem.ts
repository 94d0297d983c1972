import type { DocumentNode, Position } from './document/node.ts';
import type { ProblemSlug } from './problem-slugs.ts';

/**
 * One thing wrong with (or, as a warning, doubtful about) a capability policy document (contract 2.7). `message` says it in full and is
 * exactly `undeclared reference: <name>` for that case; `hint` says what to do about it. `line` and `column` count from 1 and are absent
 * when the document came as parsed JSON. `expressionColumn` counts from 1 inside the CEL expression (its UTF-16 units, newlines included).
 */
export type Problem = {
  readonly slug: ProblemSlug;
  readonly message: string;
  readonly hint?: string;
  /** Place inside the document, as `capabilities[2].allow[0].match.expr`; `capabilities` is the document itself. */
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
  readonly expressionColumn?: number;
};

/** Collects problems and warnings of one document; a checker never throws for what a document says. */
export type Reporter = {
  problem(slug: ProblemSlug, node: DocumentNode | PlacedKey, message: string, extra?: ProblemExtra): void;
  warning(slug: ProblemSlug, node: DocumentNode | PlacedKey, message: string, extra?: ProblemExtra): void;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
};

/** Where a key itself stands, for problems about the key and not its value (unknown fields, duplicates). */
export type PlacedKey = { readonly path: string; readonly position: Position | undefined };

export type ProblemExtra = { readonly hint?: string; readonly position?: Position | undefined; readonly expressionColumn?: number };

/** Reports are bounded: after this many of each kind the rest is counted in one last problem, not listed. */
export const problemsMax = 500;
