import type { Area } from '../support/area.ts';
import { countersWith } from '../support/documents.ts';

const counter = (fields: string) => countersWith(`name: calls\nsource: request.count\n${fields}`);
const ttl = (value: string) => counter(`task: {max: 5, ttl: ${value}}`);

export const scope: Area = {
  section: '2.7 Budget counter, scope',
  sentences: [
    {
      quote: 'workspace, task: scope `{max, ttl}`',
      accepted: { 'workspace': counter('workspace: {max: 5, ttl: 1h}'), 'task': counter('task: {max: 5, ttl: 1h}'), 'both': counter('workspace: {max: 5, ttl: 1h}\ntask: {max: 5, ttl: 1h}') },
      rejected: {
        'a number': counter('workspace: ‹wrong_type›5'),
        'a list': counter('task: ‹wrong_type›[5]'),
        'null': counter('task: ‹wrong_type›null'),
        'a further field': counter('task: {max: 5, ‹unknown_field›per: user}'),
        'no max': counter('task: ‹missing_field›{ttl: 1h}'),
      },
    },
    {
      quote: 'Scope: `max` is int64',
      accepted: { 'the largest': counter('task: {max: 9223372036854775807}'), 'one more than a double holds': counter('task: {max: 9007199254740993}') },
      rejected: {
        'beyond 64 bits': counter('task: {max: ‹invalid_int64›9223372036854775808}'),
        'a fraction': counter('task: {max: ‹wrong_type›5.5}'),
        'with an exponent': counter('task: {max: ‹wrong_type›5e3}'),
        'a text': counter('task: {max: ‹wrong_type›"5"}'),
        'with separators': counter('task: {max: ‹wrong_type›1_000}'),
        'a boolean': counter('task: {max: ‹wrong_type›true}'),
        'null': counter('task: {max: ‹wrong_type›null}'),
      },
    },
    { quote: 'Scope: `max` non-negative', accepted: { 'one': counter('task: {max: 1}') }, rejected: { 'minus one': counter('task: {max: ‹negative_value›-1}'), 'the smallest': counter('workspace: {max: ‹negative_value›-9223372036854775808}') } },
    {
      quote: 'Scope: 0 means unlimited',
      accepted: { 'zero': counter('workspace: {max: 0, ttl: 1h}'), 'a task ceiling under an unlimited workspace': counter('workspace: {max: 0}\ntask: {max: 5}') },
      rejected: { 'minus one does not mean it': counter('task: {max: ‹negative_value›-1}') },
    },
    {
      quote: 'Scope: `ttl` is a duration string (e.g. `5m`, `1h`, `24h`)',
      accepted: Object.fromEntries(['5m', '1h', '24h', '90s', '1h30m', '1.5h', '300ms', '2h45m30.5s', '1000000ns', '1000us', '1000µs', '1m60s'].map((value) => [value, ttl(value)])),
      rejected: {
        'a number': ttl('‹wrong_type›60'),
        'a number as text': ttl('‹invalid_duration›"60"'),
        'days': ttl('‹invalid_duration›1d'),
        'words': ttl('‹invalid_duration›1 hour'),
        'no unit at the end': ttl('‹invalid_duration›1h30'),
        'a blank': ttl('‹invalid_duration›" 1h"'),
        'capitals': ttl('‹invalid_duration›1H'),
        'ISO 8601': ttl('‹invalid_duration›PT1H'),
        'only a unit': ttl('‹invalid_duration›h'),
        'only a point': ttl('‹invalid_duration›.h'),
        'beyond 64 bits of nanoseconds': ttl('‹invalid_duration›2562048h'),
      },
    },
    { quote: 'Scope: empty ttl means never resets', accepted: { 'empty': ttl('""'), 'absent': counter('task: {max: 5}') }, rejected: { 'null': ttl('‹wrong_type›null'), 'a blank': ttl('‹invalid_duration›" "') } },
    {
      quote: 'Scope: ttl must be positive when set',
      accepted: { 'a millisecond': ttl('1ms') },
      rejected: { 'zero': ttl('‹duration_not_positive›0s'), 'zero without a unit': ttl('‹duration_not_positive›"0"'), 'negative': ttl('‹duration_not_positive›-1h'), 'less than can be kept': ttl('‹duration_not_positive›999us') },
    },
    {
      quote: 'Cross-counter rule: task.max must be at most workspace.max',
      accepted: { 'less': counter('workspace: {max: 5}\ntask: {max: 4}'), 'as much': counter('workspace: {max: 5}\ntask: {max: 5}'), 'only one of them': counter('task: {max: 500}') },
      rejected: { 'more': counter('workspace: {max: 5}\ntask: {max: ‹task_max_over_workspace›6}'), 'more, in the other order': counter('task: {max: ‹task_max_over_workspace›6}\nworkspace: {max: 5}'), 'one more, beyond doubles': counter('workspace: {max: 9007199254740992}\ntask: {max: ‹task_max_over_workspace›9007199254740993}') },
    },
    {
      quote: 'Cross-counter rule: task.ttl must be at most workspace.ttl',
      accepted: { 'less': counter('workspace: {max: 5, ttl: 1h}\ntask: {max: 4, ttl: 59m}'), 'the same, written otherwise': counter('workspace: {max: 5, ttl: 1h}\ntask: {max: 4, ttl: 60m}'), 'a workspace that never resets': counter('workspace: {max: 5}\ntask: {max: 4, ttl: 100h}') },
      rejected: { 'longer': counter('workspace: {max: 5, ttl: 1h}\ntask: {max: 4, ttl: ‹task_ttl_over_workspace›61m}'), 'both rules': counter('workspace: {max: 5, ttl: 1h}\ntask: {max: ‹task_max_over_workspace›6, ttl: ‹task_ttl_over_workspace›2h}') },
    },
  ],
};
