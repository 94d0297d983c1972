import { createHash } from 'node:crypto';
import type { CompiledPolicy } from '../../policy/compiled-policy.ts';
import { readPolicyText } from '../../policy/read-policy.ts';

export type PolicyCache = {
  /** The compiled document, or `broken` for a text that does not compile (which the save path refuses, so it is a fault of ours). */
  readonly policyOf: (text: string) => CompiledPolicy | 'broken';
  readonly size: number;
};

/** Compiled policies by the hash of their text: a role's workspaces, and roles with the same text, share one. The longest unused one goes first. */
export function createPolicyCache({ entriesMax, compile = (text) => readPolicyText(text).policy }: { readonly entriesMax: number; readonly compile?: (text: string) => CompiledPolicy | undefined }): PolicyCache {
  const policies = new Map<string, CompiledPolicy | 'broken'>();
  return {
    policyOf(text) {
      const key = createHash('sha256').update(text, 'utf8').digest('base64');
      const known = policies.get(key);
      const policy = known ?? compile(text) ?? 'broken';
      policies.delete(key);
      policies.set(key, policy);
      const [oldest] = policies.keys();
      if (policies.size > entriesMax && oldest !== undefined) policies.delete(oldest);
      return policy;
    },
    get size() {
      return policies.size;
    },
  };
}
