/** Prints what `up` does, a line a step: its name at once, the time it took when it is done. */
export type Steps = { step: <T>(name: string, work: () => Promise<T>) => Promise<T>; note: (text: string) => void };

export function createSteps(out: NodeJS.WriteStream): Steps {
  const dim = (text: string): string => (out.isTTY ? `\u001b[2m${text}\u001b[0m` : text);
  const red = (text: string): string => (out.isTTY ? `\u001b[31m${text}\u001b[0m` : text);
  let open = false;
  return {
    async step(name, work) {
      const startedAt = performance.now();
      out.write(`  ${name.padEnd(44, ' ')}`);
      open = true;
      try {
        const result = await work();
        out.write(`${open ? '' : `  ${name.padEnd(44, ' ')}`}done ${dim(`${((performance.now() - startedAt) / 1000).toFixed(1)} s`)}\n`);
        return result;
      } catch (error) {
        out.write(`${red('failed')}\n`);
        throw error;
      } finally {
        open = false;
      }
    },
    note(text) {
      out.write(`${open ? '\n' : ''}  ${text}\n`);
      open = false;
    },
  };
}
