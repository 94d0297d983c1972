import type { HeaderField } from '../../transforms/contract.ts';

/** Header or trailer lines as undici gives them: names and values in turn, in wire order and case. */
export function fieldsOf(raw: readonly (Buffer | string)[] | null | undefined): HeaderField[] {
  const fields: HeaderField[] = [];
  if (raw === null || raw === undefined) return fields;
  for (let at = 0; at + 1 < raw.length; at += 2) fields.push([textOf(raw[at]), textOf(raw[at + 1])]);
  return fields;
}

function textOf(part: Buffer | string | undefined): string {
  return typeof part === 'string' ? part : (part?.toString('latin1') ?? '');
}

/**
 * Whether two readers could see two ends of this answer. The parser refuses most such answers; it lets through codings other than
 * `chunked` (read until the connection ends, or with the chunks still coded) and lengths that are repeated (attacks 52, 53, 63).
 */
export function isAmbiguous(fields: readonly HeaderField[]): boolean {
  let lengths = 0;
  let codings = 0;
  for (const [name, value] of fields) {
    if (name.length === 14 && name.toLowerCase() === 'content-length') {
      lengths += 1;
      if (!/^[0-9]{1,15}$/.test(value)) return true;
    } else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      codings += 1;
      if (value.toLowerCase() !== 'chunked') return true;
    }
  }
  return lengths + codings > 1;
}

/** What a 101 switched to, in lower case. */
export function switchedTo(fields: readonly HeaderField[]): string | undefined {
  const named = fields.filter(([name]) => name.toLowerCase() === 'upgrade');
  return named.length === 1 ? named[0]?.[1].toLowerCase() : undefined;
}
