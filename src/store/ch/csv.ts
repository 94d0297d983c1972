import { columns } from '../../events/columns.ts';
import type { AuditEvent } from '../../events/event.ts';

/** A text that a spreadsheet would run as a formula gets an apostrophe in front, which makes it text again. */
function neutralised(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function cell(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'number') return String(value);
  return quoted(neutralised(typeof value === 'string' ? value : JSON.stringify(value)));
}

const newline = '\r\n';

/** RFC 4180 with a header: every column of contract 2.1 in its order, objects and lists as JSON text, absent ones empty. */
export const csvHeader = columns.map((column) => column.name).join(',') + newline;

export function csvLine(event: AuditEvent): string {
  return columns.map((column) => cell(event[column.name])).join(',') + newline;
}
