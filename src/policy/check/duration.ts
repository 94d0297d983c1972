/** Nanoseconds of each unit, as Go's durations have them. */
const units: Readonly<Record<string, bigint>> = { ns: 1n, us: 1_000n, 'µs': 1_000n, 'μs': 1_000n, ms: 1_000_000n, s: 1_000_000_000n, m: 60_000_000_000n, h: 3_600_000_000_000n };

const int64Max = 2n ** 63n - 1n;

/** A duration such as `5m`, `1h30m` or `1.5h` (contract 2.7, scope) in nanoseconds, or undefined. Signs are read, so that the caller can say "positive". */
export function parseDuration(text: string): bigint | undefined {
  const signed = /^([-+]?)(.+)$/s.exec(text);
  const [, sign = '', rest = ''] = signed ?? [];
  if (rest === '0') return 0n;
  if (rest.length > 100 || !/^(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(rest)) return undefined;
  let total = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of rest.matchAll(/([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/g)) {
    const size = units[unit] ?? 0n;
    total += BigInt(whole === '' ? '0' : whole) * size + (fraction === '' ? 0n : (BigInt(fraction) * size) / 10n ** BigInt(fraction.length));
  }
  if (total > int64Max) return undefined;
  return sign === '-' ? -total : total;
}
