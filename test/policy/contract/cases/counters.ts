import type { Area } from '../support/area.ts';
import { capabilityWith, countersWith, headersOnly, single, sse } from '../support/documents.ts';

const count = 'name: calls\nsource: request.count\ntask: {max: 5}';
const bytes = 'name: down\nsource: response.bytes\nstatus_codes: ["200"]\ntask: {max: 5}';
const stream = `${sse}terminal_event_type: done\n`;
const set = (base: string, field: string, value: string) => base.replace(new RegExp(`^${field}: .*$`, 'm'), `${field}: ${value}`);

export const counters: Area = {
  section: '2.7 Budget counter',
  sentences: [
    {
      quote: 'name: string, required, unique within the capability',
      accepted: {
        'two names': countersWith(count, set(count, 'name', 'others')),
        'the same name in two capabilities': capabilityWith(`name: one\nbudgets: {counters: [{name: calls, source: request.count, task: {max: 1}}]}`) + capabilityWith(`name: two\nbudgets: {counters: [{name: calls, source: request.count, task: {max: 1}}]}`),
      },
      rejected: { 'missing': countersWith('‹missing_field›source: request.count\ntask: {max: 5}'), 'twice': countersWith(count, set(count, 'name', '‹duplicate_name›calls')), 'a number': countersWith(set(count, 'name', '‹wrong_type›1')) },
    },
    {
      quote: 'name: no leading underscore',
      accepted: { 'an underscore later': countersWith(set(count, 'name', 'calls_a')) },
      rejected: { 'a leading one': countersWith(set(count, 'name', '‹reserved_identifier›_calls')) },
    },
    {
      quote: 'source: string, required: `request.count`, `request.bytes`, `response.bytes`, `response`',
      accepted: { 'request.count': countersWith(count), 'request.bytes': countersWith(set(count, 'source', 'request.bytes')), 'response.bytes': countersWith(bytes), 'response': countersWith(headersOnly) },
      rejected: { 'missing': countersWith('‹missing_field›name: calls\ntask: {max: 5}'), 'unknown': countersWith(set(count, 'source', '‹invalid_enum›response.count')), 'empty': countersWith(set(count, 'source', '‹invalid_enum›""')), 'a number': countersWith(set(count, 'source', '‹wrong_type›1')) },
    },
    {
      quote: 'value: CEL (a counter value is an integer)',
      accepted: { 'an integer': countersWith(headersOnly), 'a value only known at run time': countersWith(single), 'an unsigned integer': countersWith(set(headersOnly, 'value', 'uint(response.size)')) },
      rejected: { 'a string': countersWith(set(headersOnly, 'value', `'‹cel_result_type›response.headers["x-cost"]'`)), 'a boolean': countersWith(set(headersOnly, 'value', '‹cel_result_type›response.size > 1')), 'a number of YAML': countersWith(set(headersOnly, 'value', '‹wrong_type›1')) },
    },
    {
      quote: 'requires_body: bool; true: evaluated at the response body phase; false: at response headers phase',
      accepted: { 'true': countersWith(single), 'false': countersWith(headersOnly), 'absent means false': countersWith(headersOnly.replace('requires_body: false\n', '')) },
      rejected: { 'a text': countersWith(set(headersOnly, 'requires_body', '‹wrong_type›"false"')), 'the body at the headers phase': countersWith(set(headersOnly, 'value', '‹undeclared_reference|undeclared reference: response.body›response.body.tokens')) },
    },
    {
      quote: 'framing: `""`, `single_document`, `sse`; required for `response` with `requires_body: true`',
      accepted: { 'single_document': countersWith(single), 'sse': countersWith(stream), 'empty without a body': countersWith(`${headersOnly}framing: ""`) },
      rejected: {
        'unknown': countersWith(set(single, 'framing', '‹invalid_enum›ndjson')),
        'absent': countersWith(`‹field_required_for_source|framing›${single.replace('framing: single_document\n', '')}`),
        'a boolean': countersWith(set(single, 'framing', '‹wrong_type›true')),
      },
    },
    {
      quote: 'format: `""` or `application/json`; required alongside framing',
      accepted: { 'json': countersWith(single), 'empty without a body': countersWith(`${headersOnly}format: ""`) },
      rejected: { 'unknown': countersWith(set(single, 'format', '‹invalid_enum›text/plain')), 'absent': countersWith(`‹field_required_for_source|format›${single.replace('format: application/json\n', '')}`) },
    },
    {
      quote: 'encoding: `""` or `identity`; required alongside framing',
      accepted: { 'identity': countersWith(single), 'empty without a body': countersWith(`${headersOnly}encoding: ""`) },
      rejected: { 'unknown': countersWith(set(single, 'encoding', '‹invalid_enum›gzip')), 'absent': countersWith(`‹field_required_for_source|encoding›${single.replace('encoding: identity\n', '')}`) },
    },
    {
      quote: 'sse_event: string; only with `framing: sse` and `requires_body: true`',
      accepted: { 'with both': countersWith(`${stream}sse_event: usage`) },
      rejected: { 'single_document': countersWith(`${single}‹sse_event_not_allowed›sse_event: usage`), 'a number': countersWith(`${stream}sse_event: ‹wrong_type›1`) },
    },
    {
      quote: 'status_codes: exact (`"200"`), range (`"200-299"`) or family (`"2xx"`); codes within [100, 599]',
      accepted: { 'exact': countersWith(set(headersOnly, 'status_codes', '["200", "404"]')), 'a range': countersWith(set(headersOnly, 'status_codes', '["200-299"]')), 'a family': countersWith(set(headersOnly, 'status_codes', '["2xx"]')), 'the limits': countersWith(set(headersOnly, 'status_codes', '["200", "599", "200-599"]')), 'a range of one': countersWith(set(headersOnly, 'status_codes', '["200-200"]')) },
      rejected: {
        'too small': countersWith(set(headersOnly, 'status_codes', '[‹invalid_status_code›"99"]')),
        'too large': countersWith(set(headersOnly, 'status_codes', '["200", ‹invalid_status_code›"600"]')),
        'a range upside down': countersWith(set(headersOnly, 'status_codes', '[‹invalid_status_code›"299-200"]')),
        'a range beyond': countersWith(set(headersOnly, 'status_codes', '[‹invalid_status_code›"500-600"]')),
        'no such family': countersWith(set(headersOnly, 'status_codes', '[‹invalid_status_code›"6xx", ‹invalid_status_code›"0xx"]')),
        'a family in capitals': countersWith(set(headersOnly, 'status_codes', '[‹invalid_status_code›"2XX"]')),
        'a comparison': countersWith(set(headersOnly, 'status_codes', '[‹invalid_status_code›">=200"]')),
        'empty': countersWith(set(headersOnly, 'status_codes', '[‹invalid_status_code›""]')),
        'a number': countersWith(set(headersOnly, 'status_codes', '[‹wrong_type›200]')),
        'a text': countersWith(set(headersOnly, 'status_codes', '‹wrong_type›"200"')),
      },
    },
    {
      quote: 'status_codes: required for `response` and `response.bytes`',
      accepted: { 'response': countersWith(headersOnly), 'response.bytes': countersWith(bytes) },
      rejected: {
        'response': countersWith(`‹field_required_for_source|status_codes›${headersOnly.replace('status_codes: ["200"]\n', '')}`),
        'response.bytes': countersWith(`‹field_required_for_source|status_codes›${bytes.replace('status_codes: ["200"]\n', '')}`),
        'none': countersWith(set(headersOnly, 'status_codes', '‹field_required_for_source|status_codes›[]')),
      },
    },
    {
      quote: 'accumulator: `max`, `sum`, `last`; required for `response`, no default',
      accepted: { 'max': countersWith(set(headersOnly, 'accumulator', 'max')), 'sum': countersWith(headersOnly), 'last': countersWith(set(headersOnly, 'accumulator', 'last')) },
      rejected: { 'absent': countersWith(`‹field_required_for_source|accumulator›${headersOnly.replace('accumulator: sum\n', '')}`), 'unknown': countersWith(set(headersOnly, 'accumulator', '‹invalid_enum›min')), 'a list': countersWith(set(headersOnly, 'accumulator', '‹wrong_type›[sum]')) },
    },
    {
      quote: 'Budget counter: no other fields',
      accepted: { 'all fields of a stream': countersWith(`${stream}sse_event: usage\nreserve_per_request: 1\nfailure_charge: 1\nmax_concurrent: 1\ntask: {max: 10, ttl: 1h}`) },
      rejected: { 'misspelt': countersWith(`${count}\n‹unknown_field›max_concurent: 1`), 'a max of its own': countersWith(`${count}\n‹unknown_field›max: 1`), 'ttl': countersWith(`${count}\n‹unknown_field›ttl: 1h`) },
    },
  ],
};
