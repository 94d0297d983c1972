/** Prints what `up` does, a line a step: its name at once, the time it took when it is done. */
export type Steps = { step: <T>(name: string, work: () => Promise<T>) => Promise<T>; note: (text: string) => void };

/** `up` was told to stop before it was up. */
export class StopRequested extends Error {
  constructor() {
    super('stopped before everything was up');
    this.name = 'StopRequested';
  }
}

/** `stopRequested` is asked before each step, which then throws StopRequested instead of beginning. */
export function createSteps(out: NodeJS.WriteStream, stopRequested: () => boolean): Steps {
  const colour = (code: number, text: string): string => (out.isTTY ? `\u001b[${code}m${text}\u001b[0m` : text);
  const heading = (name: string): string => `  ${name.padEnd(44, ' ')}`;
  // Whether the cursor stands behind the heading of a step that runs.
  let open = false;
  return {
    async step(name, work) {
      if (stopRequested()) throw new StopRequested();
      const startedAt = performance.now();
      out.write(heading(name));
      open = true;
      const finish = (text: string): void => {
        out.write(`${open ? '' : heading(name)}${text}\n`);
        open = false;
      };
      try {
        const result = await work();
        finish(`done ${colour(2, `${((performance.now() - startedAt) / 1000).toFixed(1)} s`)}`);
        return result;
      } catch (error) {
        finish(colour(31, 'failed'));
        throw error;
      }
    },
    note(text) {
      out.write(`${open ? '\n' : ''}  ${text}\n`);
      open = false;
    },
  };
}
