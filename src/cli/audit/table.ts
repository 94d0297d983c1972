import Table from 'cli-table3';

/** A terminal, or what stands for one in a test. */
export type Screen = { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number; hasColors?(): boolean };

export type Tint = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

const codes: Readonly<Record<Tint, number>> = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 };

/** Colours only where the terminal has them (and NO_COLOR is not set, which `hasColors` sees to). */
export function tint(screen: Screen, name: Tint, text: string): string {
  return text !== '' && screen.hasColors?.() === true ? `\u001b[${codes[name]}m${text}\u001b[0m` : text;
}

/** Rows hold text that strangers chose; a terminal must not obey it. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '?');
}

export type Column = { readonly title: string; readonly right?: boolean; readonly widthMin: number; readonly widthMax: number; readonly tint?: (cell: string) => Tint | undefined };

/**
 * A width for each column: what its cells need, within its bounds; where the screen is too narrow the widest give way first, down to
 * their least width, and from there on all of them equally.
 */
export function columnWidths(columns: readonly Column[], rows: readonly (readonly string[])[], screenColumns: number): number[] {
  const widths = columns.map((column, at) => {
    const needed = rows.reduce((most, row) => Math.max(most, row[at]?.length ?? 0), column.title.length);
    return Math.max(Math.min(needed, column.widthMax), Math.min(column.widthMin, column.title.length));
  });
  const room = Math.max(columns.length * 4, screenColumns - 2 * columns.length);
  for (let over = widths.reduce((sum, width) => sum + width, 0) - room; over > 0; over -= 1) {
    const shrinkable = widths.map((width, at) => (width > (columns[at]?.widthMin ?? 0) ? width : 0));
    const widest = Math.max(...shrinkable) > 0 ? shrinkable.indexOf(Math.max(...shrinkable)) : widths.indexOf(Math.max(...widths));
    widths[widest] = Math.max(1, (widths[widest] ?? 1) - 1);
  }
  return widths;
}

const noBorders = { top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '', left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' };

/** A table without lines, cut to the width of the screen, ending with a newline. Cells are cleaned here. */
export function renderTable(screen: Screen, columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const cleaned = rows.map((row) => row.map(plain));
  const widths = columnWidths(columns, cleaned, screen.columns || 120); // some terminals say 0 when they do not know
  const table = new Table({ head: columns.map((column) => tint(screen, 'bold', column.title)), chars: noBorders, colWidths: widths, colAligns: columns.map((column) => (column.right === true ? 'right' : 'left')), wordWrap: false, style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 } });
  for (const row of cleaned) {
    table.push(row.map((cell, at) => {
      const width = widths[at] ?? cell.length;
      const cut = cell.length > width ? `${cell.slice(0, Math.max(0, width - 1))}…` : cell;
      const colour = columns[at]?.tint?.(cell);
      return colour === undefined ? cut : tint(screen, colour, cut);
    }));
  }
  return `${table.toString().split('\n').map((line) => line.trimEnd()).join('\n')}\n`;
}
