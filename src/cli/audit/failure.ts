/** Exit codes of `customhouse audit`, as its help lists them. */
export const exitCodes = {
  /** Verification found a hole, an export is not complete, or the command could not run. */
  failed: 1,
  /** The API refused the request: 4xx. */
  refused: 2,
  /** The API cannot be reached or fails: network error, 5xx. */
  unavailable: 4,
} as const;

export const exitCodesText = 'Exit codes: 0 done, 1 failed (a hole in the ledger, an incomplete export), 2 the API refused the request, 4 the API cannot be reached or fails.';

/** An error whose text is one clear line for a person, with the exit code it ends the command with. */
export class CommandFailure extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
  }
}

/** Runs a command's work; an error becomes one line on standard error and an exit code. */
export async function settle(work: () => Promise<number | void>): Promise<void> {
  try {
    process.exitCode = (await work()) ?? 0;
  } catch (error) {
    process.stderr.write(`customhouse: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = error instanceof CommandFailure ? error.exitCode : exitCodes.failed;
  }
}
