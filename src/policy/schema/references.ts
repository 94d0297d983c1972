import { isObject } from './object.ts';

/** Whether a `$ref` of this schema (`#`, `#/…` or `#anchor`) leads to a schema in it. */
export function refersToSchema(root: unknown, reference: string, anchors: ReadonlySet<string>): boolean {
  const fragment = decoded(reference.slice(1));
  if (fragment === undefined) return false;
  if (fragment === '') return true;
  if (!fragment.startsWith('/')) return anchors.has(fragment);
  let at: unknown = root;
  for (const part of fragment.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!(isObject(at) || Array.isArray(at)) || !Object.hasOwn(at, key)) return false;
    at = (at as Record<string, unknown>)[key];
  }
  return isObject(at) || typeof at === 'boolean';
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}
