import type { CelFunc } from '@bufbuild/cel';
import { CelScalar, celMethod, objectType } from '@bufbuild/cel';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { charge } from './frame.ts';

const { INT, STRING } = CelScalar;
const timestampType = objectType(TimestampSchema);

/**
 * Parts of a timestamp, always by UTC or the zone that is asked for. The library goes through dates of the machine's own zone, so its
 * answers change with the machine and lack an hour each spring.
 */
const parts: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: (date) => Math.floor((date.getTime() - startOfYear(date)) / 86_400_000),
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

function startOfYear(date: Date): number {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return start.getTime();
}

function dateOf({ seconds, nanos }: Timestamp): Date {
  return new Date(Number(seconds) * 1_000 + Math.floor(nanos / 1_000_000));
}

/** A date whose UTC parts are the local parts in that zone: `+02:00`, `-11:30`, `Europe/Berlin`. */
function inZone(date: Date, zone: string): Date {
  const offset = /^(?<sign>[+-]?)(?<hours>\d\d):(?<minutes>\d\d)$/.exec(zone)?.groups;
  if (offset !== undefined) {
    const minutes = Number(offset['hours']) * 60 + Number(offset['minutes']);
    return new Date(date.getTime() + (offset['sign'] === '-' ? -minutes : minutes) * 60_000);
  }
  const named = Object.fromEntries(zoneFormat(zone).formatToParts(date).map(({ type, value }) => [type, value]));
  const at = (name: string): number => Number.parseInt(named[name] ?? '', 10);
  const local = new Date(0);
  local.setUTCFullYear(named['era'] === 'BC' ? 1 - at('year') : at('year'), at('month') - 1, at('day'));
  local.setUTCHours(at('hour'), at('minute'), at('second'), date.getUTCMilliseconds());
  return local;
}

const formats = new Map<string, Intl.DateTimeFormat>();
const formatsMax = 64;

/** Throws for a zone that is none. Making one costs much more than using it. */
function zoneFormat(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  charge(50);
  if (zone.length > 64) throw new Error('not a time zone');
  const numeric = 'numeric' as const;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone, hourCycle: 'h23', era: 'short', year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric,
  });
  if (formats.size >= formatsMax) formats.clear();
  formats.set(zone, format);
  return format;
}

export const timeFunctions: readonly CelFunc[] = Object.entries(parts).flatMap(([name, part]) => [
  celMethod(name, timestampType, [], INT, function () {
    return BigInt(part(dateOf(this.message)));
  }),
  celMethod(name, timestampType, [STRING], INT, function (zone) {
    charge(4);
    return BigInt(part(inZone(dateOf(this.message), zone)));
  }),
]);
