import { inspect } from 'node:util';
import { compileSchema } from '../../policy/schema/compile-schema.ts';
import type { CompiledSchema } from '../../policy/schema/contract.ts';
import type { ActiveWorkspace } from '../contract.ts';
import type { WorkspaceAnswer } from './contract.ts';
import type { PolicyCache } from './policy-cache.ts';

/** Takes the place of a schema that does not compile: no event passes it, as nobody can say which ones should. */
const refusesAll: CompiledSchema = Object.freeze({
  source: false,
  draft: '2020-12',
  validate: () => [{ instancePath: '', keyword: '$schema', message: 'the schema attached to this event type does not compile' }],
});

function compiled(schema: unknown): CompiledSchema {
  const result = compileSchema(schema);
  return 'schema' in result ? result.schema : refusesAll;
}

/** Inspection, which is how objects get into logs by mistake, shows how many secrets there are and nothing else. */
function hidden(secrets: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return Object.defineProperty(new Map(secrets), inspect.custom, { value: () => `[${secrets.size} secrets]` });
}

/** An answer of the control plane as requests use it: immutable, its policy and schemas compiled. */
export function activate(answer: WorkspaceAnswer, { policies, gone }: { readonly policies: PolicyCache; readonly gone: AbortSignal }): ActiveWorkspace {
  const { id, orgId, createdBy, agentRole, agentProvider, environment, enforcement, retentionDays, caps, secrets, eventSchemas } = answer;
  return Object.freeze({
    id, orgId, createdBy, agentRole, agentProvider, environment, enforcement, retentionDays, gone,
    policy: caps === null ? undefined : policies.policyOf(caps),
    secrets: hidden(secrets),
    eventSchemas: new Map([...eventSchemas].map(([type, schema]) => [type, compiled(schema)])),
  });
}
