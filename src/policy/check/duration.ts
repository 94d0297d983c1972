/** Nanoseconds of each unit, as Go's durations have them. */
const units: Readonly<Record<string, bigint>> = { ns: 1n, us: 1_000n, 'µs': 1_000n, 'μs': 1_000n, ms: 1_000_000n, s: 1_000_000_000n, m: 60_000_000_000n, h: 3_600_000_000_000n };

const int64Max = 2n ** 63n - 1n;
const charactersMax = 100;

/** A duration such as `5m`, `1h30m` or `1.5h` (contract 2.7, scope) in nanoseconds, or undefined. Signs are read, so that the caller can say "positive". */
export function parseDuration(text: string): bigint | undefined {
  if (text.length > charactersMax) return undefined;
  const [, sign = '', rest = ''] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  if (rest === '0') return 0n;
  if (!/^(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(rest)) return undefined;
  let total = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of rest.matchAll(/([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/g)) {
    const size = units[unit] ?? 0n;
    total += BigInt(whole) * size + (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
  }
  if (total > int64Max) return undefined;
  return sign === '-' ? -total : total;
}

/** What somebody may have meant by a text that is no duration. */
export function durationHint(text: string): string {
  const [, count = '', unit] = /^([0-9]{1,6}) ?(d|days?|w|weeks?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)?$/i.exec(text) ?? [];
  if (count === '') return 'for example 5m, 1h, 24h';
  if (unit === undefined) return `a unit is missing: ${count}s, ${count}m or ${count}h`;
  const first = unit.slice(0, 1).toLowerCase();
  const hours = first === 'd' ? 24n : first === 'w' ? 168n : undefined;
  return hours === undefined ? `write ${count}${first}` : `the largest unit is h: ${BigInt(count) * hours}h`;
}
