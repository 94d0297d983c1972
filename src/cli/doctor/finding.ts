/** What one check found: `fix` says what to do when the state is not `ok`. Only `fail` fails the command. */
export type Finding = { readonly check: string; readonly state: 'ok' | 'warn' | 'fail'; readonly text: string; readonly fix?: string };

export function ok(check: string, text: string): Finding {
  return { check, state: 'ok', text };
}

/** The reason as one line; drivers hide it in causes and lists of attempts. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message === '' && error instanceof AggregateError) return error.errors.map(reason).join('; ');
  const code = 'code' in error && typeof error.code === 'string' && !error.message.includes(error.code) ? ` (${error.code})` : '';
  const cause = error.cause instanceof Error && !error.message.includes(error.cause.message) ? `: ${reason(error.cause)}` : '';
  return `${error.message.trim()}${code}${cause}`.replaceAll(/\s+/g, ' ');
}

export function failed(check: string, error: unknown, fix: string): Finding {
  return { check, state: 'fail', text: reason(error), fix };
}
