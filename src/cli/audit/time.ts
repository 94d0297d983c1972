import { parseTimestamp } from '../../kernel/clock.ts';

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** A time on the command line: RFC 3339, or how long ago (`90s`, `15m`, `2h`, `7d`, `1w`). Answers RFC 3339; throws naming the option. */
export function timeOption(option: string): (text: string) => string {
  return (text) => {
    const ago = /^(\d{1,6})([smhdw])$/.exec(text);
    if (ago !== null) return new Date(Date.now() - Number(ago[1]) * (unitMs[ago[2] ?? ''] ?? 0)).toISOString();
    if (parseTimestamp(text) === undefined) throw new Error(`${option}: expected a time such as 2026-11-20T10:00:00Z, or how long ago: 15m, 2h, 7d`);
    return text;
  };
}

/** A count on the command line. */
export function countOption(option: string, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= 1 && value <= max)) throw new Error(`${option}: expected an integer from 1 to ${max}`);
    return value;
  };
}

/** For options that may be given several times. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}
