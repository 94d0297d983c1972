import type { CelOptions, CelPhase } from './contract.ts';
import { schemaType } from './schema-type.ts';
import type { CelType } from './types.ts';
import { listOf, mapOf, types } from './types.ts';

/**
 * The two tables of contract 2.7 "CEL environments". Names are dotted variables: `request` itself is not declared, so nothing can hand
 * out a part of it that the phase does not have.
 */
const stringMap = mapOf(types.string, types.string);

const variableGroups = {
  request: {
    'request.method': types.string,
    'request.path': types.string,
    'request.host': types.string,
    'request.scheme': types.string,
    'request.headers': stringMap,
    'request.raw_query': types.string,
    'request.query': mapOf(types.string, listOf(types.string)),
  },
  response: { 'response.status': types.int, 'response.headers': stringMap, 'response.size': types.int },
  workspace: {
    'workspace.id': types.string,
    'workspace.org_id': types.string,
    'workspace.role': types.string,
    'workspace.environment': types.string,
    'task.id': types.string,
  },
  secrets: { secrets: stringMap },
  event: { event: mapOf(types.string, types.dyn) },
  responseBody: { 'response.body': types.dyn },
} as const satisfies Readonly<Record<string, Readonly<Record<string, CelType>>>>;

type Group = keyof typeof variableGroups;

/** Groups by phase, and whether the phase may see `request.body` when its options say so. */
const phases: Readonly<Record<CelPhase, { readonly groups: readonly Group[]; readonly requestBody: boolean }>> = {
  match_admission: { groups: ['request', 'workspace'], requestBody: false },
  match_body: { groups: ['request', 'workspace'], requestBody: true },
  header: { groups: ['request', 'workspace', 'secrets'], requestBody: true },
  query: { groups: ['request', 'workspace', 'secrets'], requestBody: true },
  path: { groups: ['request', 'workspace'], requestBody: true },
  body: { groups: ['request', 'workspace', 'secrets'], requestBody: true },
  counter_headers: { groups: ['response'], requestBody: false },
  counter_document: { groups: ['response', 'responseBody'], requestBody: false },
  counter_sse: { groups: ['response', 'event'], requestBody: false },
  terminal: { groups: ['response', 'event'], requestBody: false },
};

/** Every variable that some phase declares, for hints about those that this phase does not. */
export const contractVariables: ReadonlySet<string> = new Set([...Object.values(variableGroups).flatMap((group) => Object.keys(group)), 'request.body']);

export type Variables = ReadonlyMap<string, CelType>;

const fixed = new Map<CelPhase, Variables>();

export function phaseVariables(options: Pick<CelOptions, 'phase' | 'requestBody'>): Variables {
  const { groups, requestBody } = phases[options.phase];
  let variables = fixed.get(options.phase);
  if (variables === undefined) {
    variables = new Map(groups.flatMap((group): [string, CelType][] => Object.entries(variableGroups[group])));
    fixed.set(options.phase, variables);
  }
  if (!requestBody || options.requestBody === 'absent') return variables;
  const body = options.requestBody === 'dyn' ? types.dyn : schemaType(options.requestBody.schema);
  return new Map([...variables, ['request.body', body]]);
}
