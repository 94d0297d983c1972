import type { RouteRow } from './route.ts';

/** Methods that the table has for a URL, whatever method was used; empty when no row has its path. */
export function allowedMethods(rows: readonly RouteRow[], url: string): string[] {
  const segments = (url.split('?', 1)[0] ?? '').split('/');
  const matching = rows.filter(({ path }) => {
    const pattern = path.split('/');
    return pattern.length === segments.length && pattern.every((part, index) => part === segments[index] || (part.startsWith('{') && segments[index] !== ''));
  });
  return [...new Set(matching.map((row) => row.method))].sort();
}
