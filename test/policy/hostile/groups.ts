import type { HostileCase } from './case.ts';
import { documentCases, tokenCases } from './documents.ts';
import { expressionCases, patternCases, schemaCases } from './expressions.ts';
import { keyCases } from './keys.ts';

/** Cases that share a child process. */
export const groups = { documents: documentCases, tokens: tokenCases, expressions: expressionCases, patterns: patternCases, schemas: schemaCases, keys: keyCases } as const satisfies Record<string, readonly HostileCase[]>;
