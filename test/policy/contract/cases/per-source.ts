import type { ProblemSlug } from '../../../../src/policy/problem-slugs.ts';
import type { Area, Cases } from '../support/area.ts';
import { countersWith, headersOnly, single, sse } from '../support/documents.ts';

/** The table of the contract, with a value for each field. */
const values: Readonly<Record<string, string>> = {
  value: 'response.size',
  requires_body: 'true',
  sse_event: 'usage',
  reserve_per_request: '1',
  failure_charge: '1',
  framing: 'sse',
  format: 'application/json',
  encoding: 'identity',
  terminal_event_type: 'done',
  terminal_sentinel: '"[DONE]"',
  terminal_cel: 'response.status == 200',
};
const terminators = ['terminal_event_type', 'terminal_sentinel', 'terminal_cel'];
const slugs: Readonly<Record<string, ProblemSlug>> = { value: 'value_not_allowed', requires_body: 'requires_body_not_allowed', sse_event: 'sse_event_not_allowed' };

const requestBase = (source: string) => `name: calls\nsource: ${source}\nworkspace: {max: 5}\n`;
const bytesBase = 'name: down\nsource: response.bytes\nstatus_codes: ["200"]\nworkspace: {max: 5}\n';
const stream = `${sse}terminal_event_type: done\n`;

/** One case for each field that the table rejects. */
function rejectedFields(base: string, fields: readonly string[]): Cases {
  return Object.fromEntries(fields.map((field) => [field, countersWith(`${base}‹${slugs[field] ?? 'field_not_allowed_for_source'}|${field}›${field}: ${values[field] ?? ''}`)]));
}

/** One case for each field that the table requires. */
function missingFields(base: string, fields: readonly string[]): Cases {
  return Object.fromEntries(fields.map((field) => [`no ${field}`, countersWith(`‹${field === 'value' ? 'value_required' : 'field_required_for_source'}|${field}›${base.replace(new RegExp(`^${field}: .*\n`, 'm'), '')}`)]));
}

const requestRejected = ['value', 'requires_body', 'sse_event', 'reserve_per_request', 'failure_charge', 'framing', 'format', 'encoding', ...terminators];

export const perSource: Area = {
  section: '2.7 Per-source validation',
  sentences: [
    ...['request.count', 'request.bytes'].map((source) => ({
      quote: `${source}: required name, source; rejected ${requestRejected.join(', ')}`,
      accepted: {
        'only what is required': countersWith(requestBase(source)),
        'fields that say nothing': countersWith(`${requestBase(source)}value: ""\nrequires_body: false\nframing: ""\nreserve_per_request: 0`),
        'fields that the table does not mention': countersWith(`${requestBase(source)}‹!field_has_no_effect›status_codes: ["200"]\n‹!field_has_no_effect›accumulator: sum`),
      },
      rejected: { ...rejectedFields(requestBase(source), requestRejected), 'no name': countersWith(`‹missing_field›source: ${source}\nworkspace: {max: 5}`), 'no source': countersWith('‹missing_field›name: calls\nworkspace: {max: 5}') },
    })),
    {
      quote: 'response.bytes: required status_codes; rejected value, requires_body, sse_event, framing, format, encoding, terminators',
      accepted: { 'only what is required': countersWith(bytesBase), 'reserve and failure charge': countersWith(`${bytesBase}reserve_per_request: 1\nfailure_charge: 1`) },
      rejected: { ...rejectedFields(bytesBase, ['value', 'requires_body', 'sse_event', 'framing', 'format', 'encoding', ...terminators]), ...missingFields(bytesBase, ['status_codes']) },
    },
    {
      quote: 'response (headers phase): required value, status_codes, accumulator; rejected framing, format, encoding, sse_event, terminators',
      accepted: { 'only what is required': countersWith(headersOnly), 'reserve and failure charge': countersWith(`${headersOnly}reserve_per_request: 1\nfailure_charge: 1`) },
      rejected: { ...rejectedFields(headersOnly, ['framing', 'format', 'encoding', 'sse_event', ...terminators]), ...missingFields(headersOnly, ['value', 'status_codes', 'accumulator']) },
    },
    {
      quote: 'response (body phase), one document: required value, status_codes, accumulator, framing, format, encoding',
      accepted: { 'only what is required': countersWith(single) },
      rejected: missingFields(single, ['value', 'status_codes', 'accumulator', 'framing', 'format', 'encoding']),
    },
    {
      quote: 'response (body phase), SSE: required value, status_codes, accumulator, format, encoding',
      accepted: { 'only what is required': countersWith(stream) },
      rejected: missingFields(stream, ['value', 'status_codes', 'accumulator', 'format', 'encoding']),
    },
    {
      quote: 'all problems of a counter at once',
      accepted: { 'none': countersWith(stream) },
      rejected: {
        'required and rejected fields': countersWith('‹field_required_for_source|status_codes›name: down\nsource: response.bytes\n‹value_not_allowed›value: response.size\n‹field_not_allowed_for_source›framing: sse\nworkspace: {max: ‹negative_value›-1, ttl: ‹invalid_duration›soon}'),
      },
    },
  ],
};
