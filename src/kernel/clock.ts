/**
 * Time in microseconds since the Unix epoch, as a plain number (exact up to the year 2255). The contract orders rows by timestamp,
 * and milliseconds would tie too often at thousands of rows a second.
 */
export type Micros = number;

const originMicros = Math.round(performance.timeOrigin * 1000);
let correctionMicros = 0;
let lastMicros = 0;

/** Now, strictly ascending within the process; follows the wall clock when it is set by more than 50 ms. */
export function nowMicros(): Micros {
  const wall = Date.now() * 1000;
  let now = originMicros + Math.round(performance.now() * 1000) + correctionMicros;
  if (Math.abs(now - wall) > 50_000) {
    correctionMicros += wall - now;
    now = wall;
  }
  lastMicros = now > lastMicros ? now : lastMicros + 1;
  return lastMicros;
}

const datePattern = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})$/;

// A row's timestamp is made once and read by each layer that it goes through, one after the other.
let lastText = '';
let lastTextMicros: Micros = 0;

/**
 * Parses an RFC 3339 date-time with a zone. Digits after the sixth of the fraction are cut. Answers undefined for anything else,
 * also for dates that do not exist (30 February), for a leap second, and for years outside 1970 to 2199, which ClickHouse's DateTime64(6) does not hold safely.
 */
export function parseTimestamp(text: string): Micros | undefined {
  if (text === lastText) return lastTextMicros;
  const micros = parsed(text);
  if (micros === undefined) return undefined;
  lastText = text;
  lastTextMicros = micros;
  return micros;
}

function parsed(text: string): Micros | undefined {
  const match = datePattern.exec(text);
  if (match === null) return undefined;
  const [, year = '', month = '', day = '', hour = '', minute = '', second = '', fraction = '', zone = ''] = match;
  if (+hour > 23 || +minute > 59 || +second > 59) return undefined;
  const utcMs = Date.UTC(+year, +month - 1, +day, +hour, +minute, +second);
  const date = new Date(utcMs);
  // Date.UTC reads the years 0 to 99 as 1900 to 1999, so the year is compared as well.
  if (date.getUTCFullYear() !== +year || date.getUTCMonth() !== +month - 1 || date.getUTCDate() !== +day) return undefined;
  let offsetMinutes = 0;
  if (zone !== 'Z' && zone !== 'z') {
    const hours = +zone.slice(1, 3);
    const minutes = +zone.slice(4, 6);
    if (hours > 23 || minutes > 59) return undefined;
    offsetMinutes = (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
  }
  const ms = utcMs - offsetMinutes * 60_000;
  if (ms < 0 || ms >= 7_258_118_400_000) return undefined;
  return ms * 1000 + +fraction.slice(0, 6).padEnd(6, '0');
}

let cachedSecond = -1;
let cachedPrefix = '';

/** `2026-11-20T10:00:00.123456Z`, always with six digits. */
export function formatTimestamp(micros: Micros): string {
  const second = Math.floor(micros / 1_000_000);
  if (second !== cachedSecond) {
    cachedPrefix = new Date(second * 1000).toISOString().slice(0, 20);
    cachedSecond = second;
  }
  return `${cachedPrefix}${String(micros - second * 1_000_000).padStart(6, '0')}Z`;
}
