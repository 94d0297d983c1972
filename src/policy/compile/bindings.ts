import type { CelBindings } from '../cel/contract.ts';
import type { PolicyRequest } from '../compiled-policy.ts';

/** The bindings of a request, made when the first expression asks for them: most rules have none. */
export function requestBindings(request: PolicyRequest): () => CelBindings {
  let made: CelBindings | undefined;
  return () => (made ??= {
    request: {
      method: request.method, path: request.path, host: request.host, scheme: request.scheme, headers: request.headers, rawQuery: request.rawQuery,
      query: decodedQuery(request.rawQuery),
    },
    workspace: request.workspace,
    task: request.task,
  });
}

/** Decoded parameters in order of appearance; `+` is a space, and an escape that is none stays as it is. */
export function decodedQuery(rawQuery: string): ReadonlyMap<string, readonly string[]> {
  const query = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(rawQuery)) {
    const known = query.get(name);
    if (known === undefined) query.set(name, [value]);
    else known.push(value);
  }
  return query;
}
