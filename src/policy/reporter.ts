import type { Position } from './document/node.ts';
import { problemsMax, type Problem, type ProblemExtra, type Reporter } from './problem.ts';
import type { ProblemSlug } from './problem-slugs.ts';

/** A reporter for one document. The same problem at the same place is kept once: an expression is checked for each rule it applies to. */
export function createReporter(): Reporter {
  const problems = createList();
  const warnings = createList();
  return {
    problem: (slug, node, message, extra) => { problems.add(problemAt(slug, node, message, extra)); },
    warning: (slug, node, message, extra) => { warnings.add(problemAt(slug, node, message, extra)); },
    get problems() { return problems.inOrder(); },
    get warnings() { return warnings.inOrder(); },
  };
}

type Place = { readonly path: string; readonly position: Position | undefined };

function problemAt(slug: ProblemSlug, node: Place, message: string, extra: ProblemExtra = {}): Problem {
  const position = extra.position ?? node.position;
  return {
    slug,
    message,
    ...(extra.hint === undefined ? {} : { hint: extra.hint }),
    path: node.path,
    ...(position === undefined ? {} : { line: position.line, column: position.column }),
    ...(extra.expressionColumn === undefined ? {} : { expressionColumn: extra.expressionColumn }),
  };
}

function createList() {
  const seen = new Set<string>();
  const kept: Problem[] = [];
  let left = 0;
  return {
    add(problem: Problem) {
      const key = JSON.stringify([problem.slug, problem.path, problem.line, problem.column, problem.message]);
      if (seen.has(key)) return;
      if (kept.length >= problemsMax) { left += 1; return; }
      seen.add(key);
      kept.push(problem);
    },
    /** By place in the text; problems of parsed JSON, which has no places, stay in the order of the checks. */
    inOrder(): readonly Problem[] {
      const sorted = [...kept].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
      if (left === 0) return sorted;
      return [...sorted, { slug: 'too_many_problems', message: `${left} more of them are not listed`, path: 'capabilities' }];
    },
  };
}
