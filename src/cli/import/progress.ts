/** How far an import is, as the user sees it. */
export type ImportState = { readonly bytes: number; readonly lines: number; readonly accepted: number; readonly rejected: number; readonly skipped: number; readonly unconfirmed: number };

export type Progress = {
  /** Draws again, or on something that is no terminal writes a line now and then. */
  readonly update: (state: ImportState) => void;
  /** A line of its own above the bar. */
  readonly note: (text: string) => void;
  /** Removes the bar. */
  readonly done: () => void;
};

type Out = { write(text: string): unknown; isTTY?: boolean; columns?: number };

const drawMs = 100;
const plainMs = 5000;
const barCells = 24;

export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '?';
  const whole = Math.max(0, Math.ceil(seconds));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  return h > 0 ? `${h}h ${String(m).padStart(2, '0')}m` : m > 0 ? `${m}m ${String(s).padStart(2, '0')}s` : `${s}s`;
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `totalBytes` is undefined for standard input, `startBytes` what an earlier run had read. Rate and time left are of this run. */
export function createProgress(out: Out, options: { readonly totalBytes: number | undefined; readonly startBytes: number; readonly startLines: number }): Progress {
  const startedMs = performance.now();
  let drawnMs = Number.NEGATIVE_INFINITY;
  let drawn = false;

  function text(state: ImportState): string {
    const seconds = Math.max(0.001, (performance.now() - startedMs) / 1000);
    const rate = Math.round((state.lines - options.startLines) / seconds);
    const parts = [`${count(state.lines)} lines`, `${count(rate)}/s`];
    if (state.rejected > 0) parts.push(`${count(state.rejected)} rejected`);
    if (state.skipped > 0) parts.push(`${count(state.skipped)} stored before`);
    if (options.totalBytes !== undefined) {
      const read = state.bytes - options.startBytes;
      const left = options.totalBytes - state.bytes;
      if (left > 0) parts.push(`${read === 0 ? '?' : duration((left / read) * seconds)} left`);
    }
    if (state.unconfirmed > 0) parts.push(`${count(state.unconfirmed)} on their way`);
    return parts.join('  ');
  }

  function bar(state: ImportState): string {
    const share = options.totalBytes === undefined ? undefined : options.totalBytes === 0 ? 1 : state.bytes / options.totalBytes;
    if (share === undefined) return '';
    const full = Math.round(share * barCells);
    return `${'█'.repeat(full)}${'░'.repeat(barCells - full)} ${String(Math.floor(share * 100)).padStart(3)}%  `;
  }

  function erase(): void {
    if (drawn) out.write('\r\u001b[2K');
    drawn = false;
  }

  return {
    update(state) {
      const now = performance.now();
      if (now - drawnMs < (out.isTTY === true ? drawMs : plainMs)) return;
      // The first line of a plain log comes after the first pause: short imports say what they did at their end only.
      if (out.isTTY !== true && drawnMs === Number.NEGATIVE_INFINITY) {
        drawnMs = now;
        return;
      }
      drawnMs = now;
      const share = options.totalBytes === undefined || options.totalBytes === 0 ? '' : `${Math.floor((state.bytes / options.totalBytes) * 100)}%  `;
      if (out.isTTY !== true) {
        out.write(`${share}${text(state)}\n`);
        return;
      }
      out.write(`\r\u001b[2K${`${bar(state)}${text(state)}`.slice(0, (out.columns ?? 80) - 1)}`);
      drawn = true;
    },
    note(line) {
      erase();
      if (out.isTTY === true) drawnMs = Number.NEGATIVE_INFINITY;
      // Problems name fields of the file, which may hold anything; a terminal must not obey it.
      out.write(`${line.replace(/\p{Cc}/gu, '?')}\n`);
    },
    done: erase,
  };
}
