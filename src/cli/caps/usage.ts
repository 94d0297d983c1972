/** Exit codes of `customhouse caps`, as its help lists them. */
export const exitCodes = { sound: 0, problems: 1, usage: 2 } as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitCodesText = 'Exit codes: 0 sound, 1 problems found (a failed case, a file that is not formatted), 2 wrong usage, unreadable files included.';

/** What a command came to: all it has to say, and the exit code. */
export type Outcome = { readonly code: ExitCode; readonly output: string; /** Lines for standard error. */ readonly complaints?: readonly string[] };

/** Something wrong with how the command was called. The text is one line for a person. */
export class UsageError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'UsageError';
  }
}

/** Runs a command. An error is one line on standard error, and its exit code is never that of "problems found". */
export async function settle(work: () => Promise<Outcome>): Promise<void> {
  try {
    const { code, output, complaints = [] } = await work();
    // Before anything is said: a reader that goes away in the middle (`| head`) must not make problems look like none.
    process.exitCode = code;
    for (const complaint of complaints) process.stderr.write(`customhouse: ${complaint}\n`);
    process.stdout.write(output);
  } catch (error) {
    process.exitCode = exitCodes.usage;
    process.stderr.write(`customhouse: ${error instanceof Error ? error.message : String(error)}\n`);
    if (!(error instanceof UsageError) && process.env['DEBUG'] !== undefined) console.error(error);
  }
}
