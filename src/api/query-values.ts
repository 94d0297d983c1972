import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { FastifySchemaCompiler } from 'fastify';
import type { AppError } from '../kernel/errors.ts';
import { validationError } from '../kernel/errors.ts';

const ajv = new Ajv2020({ strict: false, ownProperties: true, allErrors: true, useDefaults: true, addUsedSchema: false, verbose: true, formats: { 'date-time': true } });

type Properties = Readonly<Record<string, { readonly type?: string }>>;

/**
 * Query values arrive as texts, or as lists of texts when a parameter is repeated. Ajv's own coercion would take `limit=1e3`, `0x10` and `true`
 * for numbers, so the two conversions that are meant are made here: digits to an integer, one value to a list of one.
 */
function convertQuery(data: Record<string, unknown>, properties: Properties): void {
  for (const [name, value] of Object.entries(data)) {
    const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined;
    if (type === 'array' && typeof value === 'string') data[name] = [value];
    if (type === 'integer' && typeof value === 'string' && /^-?\d{1,15}$/.test(value)) data[name] = Number(value);
  }
}

function describe(error: ErrorObject, part: string): [field: string, text: string] {
  const [field = '', ...deeper] = error.instancePath.slice(1).split('/');
  const params = error.params as Record<string, unknown>;
  if (error.keyword === 'additionalProperties' && field === '') return [String(params['additionalProperty']).slice(0, 100), part === 'querystring' ? 'not a parameter of this operation' : 'not a known field'];
  if (error.keyword === 'required' && field === '') return [String(params['missingProperty']), 'required'];
  if (error.keyword === 'enum') return [field, `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`];
  if (error.keyword === 'type' && Array.isArray(error.data) && params['type'] !== 'array') return [field, 'given more than once'];
  return [field === '' ? part : field, `${deeper.length === 0 ? '' : `${deeper.join('.')} `}${error.message ?? error.keyword}`];
}

/** The first problem of each field, as contract 2.6 wants it at `details.fields`. Values are not repeated: they may be secret. */
function validationProblem(errors: readonly ErrorObject[], part: string): AppError {
  const fields = new Map<string, string>();
  for (const [field, text] of errors.map((error) => describe(error, part))) if (!fields.has(field)) fields.set(field, text);
  return validationError(Object.fromEntries(fields));
}

/** Fastify's validator compiler: unknown parameters and fields are refused, nothing is removed or guessed. */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart = 'body' }) => {
  const validate: ValidateFunction = ajv.compile(schema);
  const properties = (schema as { properties?: Properties }).properties ?? {};
  return (data: unknown) => {
    if (httpPart === 'querystring') convertQuery(data as Record<string, unknown>, properties);
    return validate(data) ? { value: data } : { error: validationProblem(validate.errors ?? [], httpPart) };
  };
};
