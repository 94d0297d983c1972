const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Why a raw path cannot be decided by, or undefined. Also asked about paths that transforms made. */
export function pathRefusal(path: string): string | undefined {
  if (!/^\/[\x21-\x7e]*$/.test(path) || /[#?\\]/.test(path)) return 'path_bytes';
  if (path.includes('//')) return 'path_empty_segment';
  const escapes = escapeRefusal(path);
  if (escapes !== undefined) return `path_${escapes}`;
  // An upstream may take an encoded slash or backslash for a separator and cut `;…` off a segment: all of these hide a step upwards.
  const steps = path.replaceAll(/%2e/gi, '.').split(/\/|%2f|%5c/i).map((segment) => segment.replace(/;.*$/s, ''));
  return steps.some((segment) => segment === '.' || segment === '..') ? 'path_dot_segment' : undefined;
}

/** Why a raw query cannot be decided by, or undefined. */
export function queryRefusal(rawQuery: string): string | undefined {
  if (!/^[\x21-\x7e]*$/.test(rawQuery) || rawQuery.includes('#')) return 'query_bytes';
  const escapes = escapeRefusal(rawQuery);
  return escapes === undefined ? undefined : `query_${escapes}`;
}

/** Escapes must be complete, hold no NUL, and the escaped bytes must be UTF-8 in its shortest form. */
function escapeRefusal(text: string): 'escape' | 'nul' | 'utf8' | undefined {
  if (!text.includes('%')) return undefined;
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return 'escape';
  if (text.includes('%00')) return 'nul';
  for (const [run] of text.matchAll(/(?:%[89a-fA-F][0-9a-fA-F])+/g)) {
    try {
      decoder.decode(Buffer.from(run.replaceAll('%', ''), 'hex'));
    } catch {
      return 'utf8';
    }
  }
  return undefined;
}

/** Decoded parameters in order of first appearance; call it with a query that passed `queryRefusal`. `+` is a space. */
export function decodeQuery(rawQuery: string): ReadonlyMap<string, readonly string[]> {
  const query = new Map<string, string[]>();
  for (const part of rawQuery.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decodePart(equals === -1 ? part : part.slice(0, equals));
    const value = decodePart(equals === -1 ? '' : part.slice(equals + 1));
    const values = query.get(name);
    if (values === undefined) query.set(name, [value]);
    else values.push(value);
  }
  return query;
}

function decodePart(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
