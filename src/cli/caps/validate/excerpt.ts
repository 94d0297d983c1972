import { plain } from '../../audit/table.ts';

/** Lines of a document by number, for showing the one a problem is in. */
export type Lines = { line(number: number): string | undefined };

export function linesOf(text: string): Lines {
  const lines = text.split(/\r\n|\n|\r/);
  return { line: (number) => lines[number - 1] };
}

const wide = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

/** Columns of a terminal that a text takes, near enough to put a caret under the right character. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += /\p{Mn}/u.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return width;
}

/** Of a line longer than this, a part is shown that begins at most `before` in front of the column. */
const shownMax = 120;
const before = 70;

/**
 * The line of a problem and a caret under its column (from 1, UTF-16 units), each ending with a newline. Of a long line the part around
 * the column is shown. Control characters come out as `?`: a terminal must not obey the document.
 */
export function excerpt(lines: Lines, line: number, column: number): string {
  const written = lines.line(line);
  if (written === undefined) return '';
  const at = Math.min(column - 1, written.length);
  const from = whole(written, Math.max(0, Math.min(at - before, written.length - shownMax)));
  const to = whole(written, Math.min(written.length, from + shownMax));
  const clean = (text: string): string => plain(text.replaceAll('\t', ' '));
  const head = `${from > 0 ? '…' : ''}${clean(written.slice(from, at))}`;
  const tail = `${clean(written.slice(at, to))}${to < written.length ? '…' : ''}`;
  const gutter = String(line).padStart(5);
  return `${gutter} | ${head}${tail}\n${' '.repeat(gutter.length)} | ${' '.repeat(widthOf(head))}^\n`;
}

/** An offset that does not cut a character in two. */
function whole(text: string, at: number): number {
  return /^[\udc00-\udfff]/.test(text.slice(at, at + 1)) && /[\ud800-\udbff]$/.test(text.slice(0, at)) ? at - 1 : at;
}
