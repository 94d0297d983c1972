import type { Area } from '../support/area.ts';
import { countersWith, headersOnly, single, sse } from '../support/documents.ts';

const count = 'name: calls\nsource: request.count\ntask: {max: 5}';
const stream = `${sse}terminal_event_type: done\n`;

export const counterAmounts: Area = {
  section: '2.7 Budget counter, amounts',
  sentences: [
    {
      quote: 'reserve_per_request: int64, non-negative',
      accepted: { 'some': countersWith(`${stream}reserve_per_request: 40`), 'none': countersWith(`${stream}reserve_per_request: 0`), 'the largest': countersWith(`${stream}reserve_per_request: 9223372036854775807`) },
      rejected: {
        'negative': countersWith(`${stream}reserve_per_request: ‹negative_value›-1`),
        'beyond 64 bits': countersWith(`${stream}reserve_per_request: ‹invalid_int64›9223372036854775808`),
        'far beyond, below zero': countersWith(`${stream}reserve_per_request: ‹invalid_int64›-99999999999999999999`),
        'a fraction': countersWith(`${stream}reserve_per_request: ‹wrong_type›1.5`),
        'a text': countersWith(`${stream}reserve_per_request: ‹wrong_type›"1"`),
        'null': countersWith(`${stream}reserve_per_request: ‹wrong_type›null`),
      },
    },
    {
      quote: 'reserve_per_request: rejected on synchronous sources',
      accepted: { 'response': countersWith(`${stream}reserve_per_request: 40`) },
      rejected: { 'request.count': countersWith(`${count}\n‹field_not_allowed_for_source›reserve_per_request: 1`), 'request.bytes': countersWith(`${count.replace('count', 'bytes')}\n‹field_not_allowed_for_source›reserve_per_request: 1`) },
    },
    {
      quote: 'failure_charge: int64, non-negative',
      accepted: { 'some': countersWith(`${stream}failure_charge: 40`), 'none': countersWith(`${stream}failure_charge: 0`) },
      rejected: { 'negative': countersWith(`${stream}failure_charge: ‹negative_value›-1`), 'beyond 64 bits': countersWith(`${stream}failure_charge: ‹invalid_int64›9223372036854775808`), 'a boolean': countersWith(`${stream}failure_charge: ‹wrong_type›true`) },
    },
    {
      quote: 'failure_charge: at most the scope\'s max',
      accepted: {
        'as much': countersWith(`${stream}failure_charge: 100`),
        'a scope without a limit': countersWith(`${stream.replace('max: 100', 'max: 0')}failure_charge: 100000`),
        'no scope': countersWith(`${stream.replace(/workspace: .*\n/, '')}max_concurrent: 1\nfailure_charge: 100000`),
      },
      rejected: {
        'more than the workspace\'s': countersWith(`${stream}failure_charge: ‹failure_charge_over_max|workspace›101`),
        'more than the task\'s': countersWith(`${stream}task: {max: 10, ttl: 1h}\nfailure_charge: ‹failure_charge_over_max|task›11`),
      },
    },
    {
      quote: 'failure_charge: rejected on synchronous sources',
      accepted: { 'response': countersWith(`${headersOnly}failure_charge: 1`) },
      rejected: { 'request.count': countersWith(`${count}\n‹field_not_allowed_for_source›failure_charge: 1`), 'request.bytes': countersWith(`${count.replace('count', 'bytes')}\n‹field_not_allowed_for_source›failure_charge: 1`) },
    },
    {
      quote: 'max_concurrent: int, default 0 (unlimited)',
      accepted: { 'some': countersWith(`${single}max_concurrent: 4`), '0': countersWith(`${count}\nmax_concurrent: 0`), 'in hexadecimal': countersWith(`${count}\nmax_concurrent: 0x10`) },
      rejected: { 'negative': countersWith(`${count}\nmax_concurrent: ‹negative_value›-1`), 'a fraction': countersWith(`${count}\nmax_concurrent: ‹wrong_type›1.5`), 'a text': countersWith(`${count}\nmax_concurrent: ‹wrong_type›"4"`), 'too large': countersWith(`${count}\nmax_concurrent: ‹invalid_int64›2147483648`) },
    },
  ],
};
