import type { ProblemSlug } from '../../../src/policy/problem-slugs.ts';

/** What has to come of a hostile document: `valid`, one of some slugs, or anything that is not an exception. */
export type HostileCase = {
  readonly name: string;
  readonly text?: () => string;
  readonly value?: () => unknown;
  readonly expects: readonly (ProblemSlug | 'valid' | 'any')[];
};

/** One line that the child process prints for each case. */
export type HostileResult = { readonly name: string; readonly slugs: readonly string[]; readonly problems: number; readonly positioned: boolean; readonly ms: number; readonly memoryMiB: number };
