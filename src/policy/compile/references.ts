import type { Policy, TransformVariant } from '../model.ts';

/** Names of the secrets that the document's expressions read, each once, sorted. */
export function secretKeysOf(document: Policy): readonly string[] {
  const keys = new Set<string>();
  for (const { transforms, allow } of document.capabilities) {
    for (const { variant, appliesTo } of transforms) {
      if (!hasValue(variant)) continue;
      for (const rule of allow) {
        if (appliesTo.length === 0 || (rule.name !== undefined && appliesTo.includes(rule.name))) for (const key of variant.value(rule).secretKeys) keys.add(key);
      }
    }
  }
  return [...keys].sort();
}

/** Names of the credentials that auth transforms use, each once, sorted. */
export function credentialsOf(document: Policy): readonly string[] {
  const names = document.capabilities.flatMap(({ transforms }) => transforms).flatMap(({ variant }) => (variant.kind === 'auth' ? [variant.credential] : []));
  return [...new Set(names)].sort();
}

export function hasValue(variant: TransformVariant): variant is Extract<TransformVariant, { readonly value: unknown }> {
  return 'value' in variant;
}
