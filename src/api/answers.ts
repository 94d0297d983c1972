import Type from 'typebox';
import type { TSchema } from 'typebox';
import type { ColumnKind } from '../events/columns.ts';
import { columns } from '../events/columns.ts';
import { jsonAnswer } from './route.ts';

const kinds: Readonly<Record<ColumnKind, TSchema>> = {
  uuid: Type.String({ format: 'uuid' }),
  text: Type.String(),
  time: Type.String({ format: 'date-time' }),
  seq: Type.Integer(),
  count: Type.Integer({ minimum: 0 }),
  json: Type.Object({}, { additionalProperties: true }),
  integers: Type.Record(Type.String(), Type.Integer()),
  values: Type.Record(Type.String(), Type.Unknown()),
  texts: Type.Record(Type.String(), Type.String()),
  list: Type.Array(Type.String()),
};

const alwaysThere = 8;

/** Contract 2.1 for the API document, from the column table: a new column appears by itself. Absent columns are left out of a row. */
export const auditEvent = Type.Object(
  Object.fromEntries(columns.map(({ name, kind }, index) => [name, index < alwaysThere ? kinds[kind] : Type.Optional(kinds[kind])])),
  { description: 'One row of the audit log' },
);

export const eventPage = jsonAnswer('A page; without `cursor` it is the last one', Type.Object({ events: Type.Array(auditEvent), cursor: Type.Optional(Type.String()) }));

export const statsAnswer = jsonAnswer('Buckets, ordered by bucket and then by group', Type.Object({
  buckets: Type.Array(Type.Object({
    group: Type.Record(Type.String(), Type.String()),
    bucket: Type.Optional(Type.String({ description: 'Start of the time bucket, or label of the range' })),
    value: Type.Number(),
  })),
}));

export const eventStream = {
  description: 'Server-sent events: `event`, `id` (the event id) and `data` (the row as JSON); a heartbeat comment about every 15 seconds. Closed after five minutes; reconnect with `Last-Event-ID` to miss nothing.',
  content: { 'text/event-stream': { schema: Type.String() } },
};
