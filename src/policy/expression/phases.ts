import type { CelOptions, CelPhase } from '../cel/contract.ts';
import type { Variables } from './checker.ts';
import { schemaType } from './schema-types.ts';
import type { Type } from './types.ts';
import { T, stringMap } from './types.ts';

type Group = 'request' | 'response' | 'response.body' | 'workspace' | 'secrets' | 'event' | 'request.body';

/** The variables of contract 2.7, by group. */
const variables: Readonly<Record<Group, readonly (readonly [name: string, type: Type])[]>> = {
  request: [
    ['request.method', T.string], ['request.path', T.string], ['request.host', T.string], ['request.scheme', T.string], ['request.headers', stringMap],
    ['request.raw_query', T.string], ['request.query', T.map(T.string, T.list(T.string))],
  ],
  'request.body': [['request.body', T.dyn]],
  response: [['response.status', T.int], ['response.headers', stringMap], ['response.size', T.int]],
  'response.body': [['response.body', T.dyn]],
  workspace: [['workspace.id', T.string], ['workspace.org_id', T.string], ['workspace.role', T.string], ['workspace.environment', T.string], ['task.id', T.string]],
  secrets: [['secrets', stringMap]],
  event: [['event', T.map(T.string, T.dyn)]],
};

/** The contract's table of availability, row by row. `request.body` comes with the place: see `CelOptions.requestBody`. */
export const phaseGroups: Readonly<Record<CelPhase, readonly Group[]>> = {
  match_admission: ['request', 'workspace'],
  match_body: ['request', 'workspace', 'request.body'],
  header: ['request', 'workspace', 'secrets', 'request.body'],
  query: ['request', 'workspace', 'secrets', 'request.body'],
  path: ['request', 'workspace', 'request.body'],
  body: ['request', 'workspace', 'secrets', 'request.body'],
  counter_headers: ['response'],
  counter_document: ['response', 'response.body'],
  counter_sse: ['response', 'event'],
  terminal: ['response', 'event'],
};

/** The environment of one place in a document. */
export function environmentOf({ phase, requestBody }: Pick<CelOptions, 'phase' | 'requestBody'>): Variables {
  const declared = new Map<string, Type>();
  for (const group of phaseGroups[phase]) {
    if (group === 'request.body' && requestBody === 'absent') continue;
    for (const [name, type] of variables[group]) declared.set(name, type);
  }
  if (typeof requestBody === 'object' && declared.has('request.body')) declared.set('request.body', schemaType(requestBody.schema));
  return declared;
}
