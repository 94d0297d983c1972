import Type from 'typebox';
import type { TObject, TProperties } from 'typebox';
import { counterColumn, dimensionColumns, filterableColumns } from '../events/columns.ts';
import { autoPointsMax, boundsMax } from '../query/buckets.ts';
import { filterValuesMax, filtersMax } from '../query/filter.ts';
import { limitDefault, limitMax } from '../query/page-request.ts';
import { topMax } from '../query/stats-request.ts';

/**
 * Query parameters of the audit routes (contract 4.1 to 4.5), each written once. The schemas refuse unknown and repeated parameters and
 * describe the rest; grammar inside a value is `src/query`'s part. Examples stand in the descriptions: the docs page would fill in given
 * ones as values, and its first answer would be an empty page.
 */
export function parameters<P extends TProperties>(properties: P): TObject<P> {
  return Type.Object(properties, { additionalProperties: false });
}

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description: `${description}. For example \`2026-11-20T10:00:00Z\`` }));

export const filter = Type.Optional(Type.Array(Type.String(), {
  maxItems: filtersMax,
  description: `Repeatable; all must hold. For example \`decision=deny\` and \`destination!=api.example.com\`. \`col=v1,v2\` (one of), \`col!=v1,v2\` (none of), \`col!=\` (has a value). A comma or backslash in a value is written \`\\,\` or \`\\\\\`; at most ${filterValuesMax} values. Columns: ${filterableColumns.join(', ')}. \`${counterColumn}\` matches rows whose debits or budget_state has the key.`,
}));
export const from = time('Rows at or after this time');
export const to = time('Rows before this time');
export const after = time('Events strictly after this time; for replay by consumers that drop what they have seen by id; not together with `cursor`');
export const cursor = Type.Optional(Type.String({ description: 'From the page before, passed back verbatim with the same other parameters' }));
export const limit = Type.Integer({ minimum: 1, maximum: limitMax, default: limitDefault, description: 'Rows of the page' });
export const order = (fallback: 'asc' | 'desc') => Type.Enum(['asc', 'desc'], { type: 'string', default: fallback, description: 'By (timestamp, source_seq, id)' });
export const taskId = Type.Optional(Type.String({ description: 'Rows of one task' }));
export const eventType = Type.Optional(Type.String({ description: 'Rows of one event type' }));
export const apiKey = Type.Optional(Type.String({ description: 'API key, for clients that cannot set headers' }));

export const groupBy = Type.Optional(Type.String({ description: `Comma-separated dimensions, as in \`destination,decision\`: ${dimensionColumns.join(', ')}` }));
export const timeBucket = Type.Optional(Type.String({ description: `\`auto\`, \`5m\`, \`15m\`, \`1h\`, \`6h\` or \`1d\`; \`auto\` takes the finest that gives at most ${autoPointsMax} points` }));
export const bucketBy = Type.Optional(Type.String({
  description: `\`column:b1,b2,…\` with at most ${boundsMax} ascending bounds, on latency_ms, transforms_applied, validations_applied or \`debits.<key>\`; labels \`<b1\`, \`b1-b2\`, \`>=bn\`. For example \`latency_ms:10,100,1000\`. Not together with time_bucket`,
}));
export const metric = Type.String({ default: 'count', description: '`count`, `sum:<debits key>`, `avg:latency_ms`; also `min:`, `max:`, `p50:`, `p90:`, `p95:` and `p99:latency_ms`' });
export const top = Type.Optional(Type.String({ description: `\`N:dimension\` keeps the N largest values (N to ${topMax}) of a dimension of group_by, as in \`5:destination\`` }));

export const workspaceParams = Type.Object({ id: Type.String({ description: 'Workspace id' }) }, { additionalProperties: false });
