import { validationError } from '../kernel/errors.ts';
import { shown } from './problems.ts';

/**
 * `count` counts rows. `sum` adds up one debits key; a row without the key adds nothing. The others look at `latency_ms` of the rows that
 * have one (proxy rows) and leave out groups in which none has.
 */
export type Metric =
  | { readonly kind: 'count' }
  | { readonly kind: 'sum'; readonly counter: string }
  | { readonly kind: 'avg' | 'min' | 'max'; readonly column: 'latency_ms' }
  | { readonly kind: 'quantile'; readonly level: number; readonly column: 'latency_ms' };

const latencyMetrics: ReadonlyMap<string, Metric> = new Map<string, Metric>([
  ...(['avg', 'min', 'max'] as const).map((kind): [string, Metric] => [kind, { kind, column: 'latency_ms' }]),
  ...[50, 90, 95, 99].map((percent): [string, Metric] => [`p${percent}`, { kind: 'quantile', level: percent / 100, column: 'latency_ms' }]),
]);

export const counterCharsMax = 512;

/** Whether a text can be a debits key at all. */
export function isCounterName(text: string): boolean {
  return text !== '' && text.length <= counterCharsMax && !text.includes('\0') && text.isWellFormed();
}

const grammar = `count, sum:<debits key>, or ${[...latencyMetrics.keys()].map((name) => `${name}:latency_ms`).join(', ')}`;

/** @throws AppError validation_error with `details.fields.metric` */
export function parseMetric(text: string): Metric {
  if (text === 'count') return { kind: 'count' };
  const colon = text.indexOf(':');
  const name = colon === -1 ? text : text.slice(0, colon);
  const field = colon === -1 ? '' : text.slice(colon + 1);
  if (name === 'sum' && isCounterName(field)) return { kind: 'sum', counter: field };
  const metric = latencyMetrics.get(name);
  if (metric !== undefined && field === 'latency_ms') return metric;
  throw validationError({ metric: `${shown(text)} is not a metric; expected ${grammar}` });
}
