import { labelMatches } from '../match/host-pattern.ts';
import { partsOf } from '../match/path-glob.ts';
import type { AllowRule, HostPattern } from '../model.ts';

/** Steps that all comparisons of one document may take together; what is left then goes unsaid. */
export type Work = { left: number };

/** Whether some request passes the static criteria of both rules: same domain, method and path (contract 2.7, warning 4). */
export function rulesOverlap(a: AllowRule, b: AllowRule, work: Work): boolean {
  work.left -= 1;
  return a.methods.some((method) => b.methods.includes(method)) && a.domains.some((left) => b.domains.some((right) => hostsOverlap(left, right))) && pathsOverlap(a.paths, b.paths, work);
}

export function hostsOverlap(a: HostPattern, b: HostPattern): boolean {
  if (a.port !== b.port || (a.kind !== b.kind)) return false;
  return a.labels.length === b.labels.length && a.labels.every((label, index) => labelsOverlap(label, b.labels[index] ?? ''));
}

function labelsOverlap(a: string, b: string): boolean {
  const [beforeA = '', afterA] = a.split('*');
  const [beforeB = '', afterB] = b.split('*');
  if (afterA === undefined) return labelMatches(b, a);
  if (afterB === undefined) return labelMatches(a, b);
  return (beforeA.startsWith(beforeB) || beforeB.startsWith(beforeA)) && (afterA.endsWith(afterB) || afterB.endsWith(afterA));
}

function pathsOverlap(a: readonly string[], b: readonly string[], work: Work): boolean {
  return a.length === 0 || b.length === 0 || a.some((left) => b.some((right) => globsOverlap(left, right, work)));
}

type Token = { readonly text: string } | { readonly star: 'segment' | 'path' };

function tokensOf(glob: string): readonly Token[] {
  return partsOf(glob).flatMap((part): readonly Token[] => ('star' in part ? [part] : [...part.text].map((text) => ({ text }))));
}

/** Whether some path matches both globs: a walk through the pairs of places in them. */
export function globsOverlap(a: string, b: string, work: Work): boolean {
  if (a === b) return true;
  const left = tokensOf(a);
  const right = tokensOf(b);
  const width = right.length + 1;
  const seen = new Uint8Array((left.length + 1) * width);
  const open: number[] = [0];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (seen[place] === 1) continue;
    seen[place] = 1;
    work.left -= 1;
    if (work.left < 0) return false;
    const i = Math.floor(place / width);
    const j = place % width;
    if (i === left.length && j === right.length) return true;
    const one = left[i];
    const other = right[j];
    if (one !== undefined && 'star' in one) {
      open.push((i + 1) * width + j);
      if (other !== undefined && 'text' in other && (one.star === 'path' || other.text !== '/')) open.push(i * width + j + 1);
    }
    if (other !== undefined && 'star' in other) {
      open.push(i * width + j + 1);
      if (one !== undefined && 'text' in one && (other.star === 'path' || one.text !== '/')) open.push((i + 1) * width + j);
    }
    if (one !== undefined && other !== undefined && 'text' in one && 'text' in other && one.text === other.text) open.push((i + 1) * width + j + 1);
  }
  return false;
}

/** Whether `earlier` admits every request that `later` could, so that `later` never decides anything. May say no where the answer is yes. */
export function ruleCovers(earlier: AllowRule, later: AllowRule): boolean {
  const unconditional = earlier.match === undefined && earlier.schema === undefined && earlier.requestFormat === '';
  return unconditional
    && (earlier.allowInsecure || !later.allowInsecure)
    && later.methods.every((method) => earlier.methods.includes(method))
    && later.domains.every((domain) => earlier.domains.some((other) => hostCovers(other, domain)))
    && (earlier.paths.length === 0 || (later.paths.length > 0 && later.paths.every((path) => earlier.paths.some((other) => globCovers(other, path)))));
}

function hostCovers(a: HostPattern, b: HostPattern): boolean {
  return a.kind === b.kind && a.port === b.port && a.labels.length === b.labels.length && a.labels.every((label, index) => labelCovers(label, b.labels[index] ?? ''));
}

function labelCovers(a: string, b: string): boolean {
  if (a === b || a === '*') return true;
  return !b.includes('*') && labelMatches(a, b);
}

function globCovers(a: string, b: string): boolean {
  if (a === b) return true;
  const [prefix, end, ...more] = partsOf(a);
  const [start] = partsOf(b);
  const open = prefix !== undefined && 'text' in prefix && end !== undefined && 'star' in end && end.star === 'path' && more.length === 0;
  return open && start !== undefined && 'text' in start && start.text.startsWith(prefix.text);
}
