import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { isUuid } from '../kernel/ids.ts';
import { parseTimestamp } from '../kernel/clock.ts';
import type { EventDefinition } from './catalog.ts';
import { eventCatalog } from './catalog.ts';
import { columns } from './columns.ts';
import type { AuditEvent } from './event.ts';
import { decisions, denyReasons, flooredReasons, phases, policyTypes, transformFailures } from './enumerations.ts';
import { hasToJson, jsonProblem } from './json-bounds.ts';

/** Most problems listed for one row, and characters of each: a row of a million wrong keys must not become a message of its size. */
const problemsMax = 20;
const problemCharactersMax = 400;

// Every bound below keeps a row within what its column holds: ClickHouse wraps integers out of range without a word.
const safeInteger = { type: 'integer', minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
/** Map keys are names of counters, credentials and transforms (contract 2.7); none needs an escape in JSON. */
const mapOf = (values: object | true): object => ({ type: 'object', additionalProperties: values, maxProperties: 1024, propertyNames: { maxLength: 512, pattern: '^[^\\u0000-\\u001f"\\\\]*$' } });
const shortText = { type: 'string', maxLength: 512 };

const publicColumns: Record<string, object> = {
  id: { type: 'string', format: 'uuid-v7' },
  org_id: { type: 'string', format: 'uuid-any' },
  user_id: { type: 'string', minLength: 1, maxLength: 512 },
  timestamp: { type: 'string', format: 'micros' },
  source_seq: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  workspace_id: shortText,
  task_id: shortText,
  agent_role: shortText,
  agent_provider: shortText,
  destination: { type: 'string', maxLength: 2048 },
  method: { type: 'string', maxLength: 64 },
  path: { type: 'string', maxLength: 65_536 },
  decision: { enum: decisions },
  reason: { enum: denyReasons },
  latency_ms: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
  transforms_applied: { type: 'integer', minimum: 0, maximum: 65_535 },
  validations_applied: { type: 'integer', minimum: 0, maximum: 65_535 },
  policy_type: { enum: policyTypes },
  phase: { enum: phases },
  capability_name: shortText,
  detail: { type: 'object' },
  debits: mapOf(safeInteger),
  budget_state: mapOf(true),
  floored: mapOf({ enum: flooredReasons }),
  transforms_failed: mapOf({ enum: transformFailures }),
  auth_used: { type: 'array', items: shortText, maxItems: 1024 },
  auth_failures: mapOf({ enum: transformFailures }),
};

const always = columns.slice(0, 8).map((column) => column.name);

function detailSchema(definition: EventDefinition): object {
  if (definition.detail === undefined) return { type: 'object' };
  const keys = Object.entries(definition.detail ?? {});
  return {
    type: 'object',
    properties: Object.fromEntries(keys.map(([name, key]) => [name, key.schema])),
    required: keys.filter(([, key]) => !key.optional).map(([name]) => name),
    additionalProperties: false,
  };
}

function required(definition: EventDefinition, strict: boolean): string[] {
  if (!strict) return [...always];
  const scoped = definition.scope === 'workspace' || definition.scope === 'agent' ? ['workspace_id'] : [];
  const proxied = definition.scope === 'proxy' ? ['decision', 'policy_type', 'phase', 'latency_ms'] : [];
  const detailed = Object.values(definition.detail ?? {}).some((key) => !key.optional) ? ['detail'] : [];
  return [...always, ...scoped, ...proxied, ...detailed];
}

function rowSchema(type: string, definition: EventDefinition, strict: boolean): object {
  const scoped = definition.scope === 'workspace' || definition.scope === 'agent';
  const properties = {
    ...publicColumns,
    event_type: { const: type },
    category: { const: definition.category },
    actor: { const: definition.actor },
    ...(strict ? { detail: detailSchema(definition) } : {}),
    ...(strict && scoped ? { workspace_id: { ...shortText, minLength: 1 } } : {}),
  };
  return { type: 'object', properties, required: required(definition, strict), additionalProperties: false, ...(definition.scope === 'proxy' && strict ? { allOf: decisionRules } : {}) };
}

function when(column: string, values: readonly string[], then: object): object {
  return { if: { properties: { [column]: { enum: values } }, required: [column] }, then };
}

const detailWith = (key: string, schema: object): object => ({ required: ['detail'], properties: { detail: { required: [key], properties: { [key]: schema } } } });

/** Contract 6.3: what deny rows populate, what allow rows do not, and that DNS rows are written for allows only. */
const decisionRules = [
  when('decision', ['deny'], { required: ['reason'] }),
  when('decision', ['allow'], { properties: { reason: { maxLength: 0 } } }),
  when('reason', ['no_match', 'schema_violation', 'format_mismatch'], detailWith('allowrule_eval', {})),
  when('reason', ['budget_exhausted', 'concurrency_exhausted'], detailWith('counter', { type: 'string' })),
  when('policy_type', ['dns'], { properties: { decision: { const: 'allow' }, phase: { const: 'dns' } } }),
  when('phase', ['dns'], { properties: { policy_type: { const: 'dns' } } }),
];

const ajv = new Ajv2020({ strict: false, ownProperties: true, allErrors: true });
ajv.addFormat('uuid-v7', (id: string) => isUuid(id) && id[14] === '7');
ajv.addFormat('uuid-any', isUuid);
ajv.addFormat('micros', (text: string) => parseTimestamp(text) !== undefined);

/** What the formats above ask for, in the words of a message. */
const formatTexts: Readonly<Record<string, string>> = { 'uuid-v7': 'a UUIDv7 in lower case', 'uuid-any': 'a UUID in lower case', micros: 'an RFC 3339 date-time with a zone, of the years 1970 to 2199' };

const compiled = new Map<string, ValidateFunction>();

function validatorOf(type: string, definition: EventDefinition, strict: boolean): ValidateFunction {
  const key = `${strict ? 's' : 'e'}:${type}`;
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const made = ajv.compile(rowSchema(type, definition, strict));
  compiled.set(key, made);
  return made;
}

/** The column an error is about: the first step of its path, or the property it names at the root. */
function columnOf(error: ErrorObject): string {
  const step = error.instancePath.split('/', 2)[1];
  if (step !== undefined) return step.replaceAll('~1', '/').replaceAll('~0', '~');
  return String(error.params['additionalProperty'] ?? error.params['missingProperty']);
}

function describe(error: ErrorObject): string {
  const path = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  if (error.keyword === 'additionalProperties') return `${path === '' ? '' : `${path}.`}${String(error.params['additionalProperty'])}: not a known field`;
  if (error.keyword === 'required') return `${path === '' ? '' : `${path}.`}${String(error.params['missingProperty'])}: required`;
  if (error.keyword === 'const') return `${path}: must be ${JSON.stringify(error.params['allowedValue'])}`;
  if (error.keyword === 'enum') return `${path}: must be one of ${(error.params['allowedValues'] as unknown[]).join(', ')}`;
  if (error.keyword === 'format') return `${path}: must be ${formatTexts[String(error.params['format'])] ?? 'well-formed'}`;
  return `${path}: ${error.message ?? error.keyword}`;
}

function clipped(problems: readonly string[]): string[] {
  const half = problemCharactersMax / 2;
  const shown = problems.slice(0, problemsMax).map((text) => (text.length > problemCharactersMax ? `${text.slice(0, half - 1)}…${text.slice(-half)}` : text));
  return problems.length > problemsMax ? [...shown, `and ${problems.length - problemsMax} more`] : shown;
}

type Problem = { readonly column: string; readonly text: string };

function problemsOf(row: object, type: string, definition: EventDefinition, strict: boolean): Problem[] {
  const validate = validatorOf(type, definition, strict);
  const found = validate(row) ? [] : (validate.errors ?? []).filter((error) => error.keyword !== 'if').map((error) => ({ column: columnOf(error), text: describe(error) }));
  for (const column of ['detail', 'budget_state'] as const) {
    const problem = Object.hasOwn(row, column) ? jsonProblem((row as Record<string, unknown>)[column]) : undefined;
    if (problem !== undefined) found.push({ column, text: `${column}: ${problem}` });
  }
  for (const column of ['debits', 'floored', 'transforms_failed', 'auth_used', 'auth_failures'] as const) {
    if (Object.hasOwn(row, column) && hasToJson((row as Record<string, unknown>)[column])) found.push({ column, text: `${column}: must be a plain JSON value` });
  }
  return found;
}

/**
 * Problems of a row against the catalog, each as `field: what is wrong`; an empty list means the row is sound. Values are never
 * repeated in the texts, as they may be secret. `strict` also checks scope, detail keys and deny reasons (what our own emitters write);
 * without it only the envelope is checked (imported history may carry details of an older shape).
 */
export function rowProblems(row: unknown, options: { strict: boolean }): string[] {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return ['row: must be a JSON object'];
  const type = Object.hasOwn(row, 'event_type') ? (row as { event_type?: unknown }).event_type : undefined;
  if (typeof type !== 'string') return ['event_type: required'];
  const definition = eventCatalog.get(type);
  if (definition === undefined) return ['event_type: not a known event type'];
  return clipped(problemsOf(row, type, definition, options.strict).map((problem) => problem.text));
}

/** Names of the columns, known or not, that keep the row from being stored; the row's event type must be of the catalog. */
export function unstorableColumns(row: AuditEvent): string[] {
  const definition = eventCatalog.get(row.event_type);
  if (definition === undefined) throw new RangeError('event_type: not a known event type');
  return [...new Set(problemsOf(row, row.event_type, definition, false).map((problem) => problem.column))];
}
