import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';

export type { Logger } from 'pino';

/** Type, message and stack of an error and of its causes; no further properties, which may hold rows, queries or headers. */
export function loggedError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return String(error);
  const code = (error as { code?: unknown }).code;
  return {
    type: error.name,
    message: error.message.slice(0, 2000),
    stack: error.stack?.slice(0, 4000),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(error.cause === undefined || depth >= 4 ? {} : { cause: loggedError(error.cause, depth + 1) }),
  };
}

/** JSON lines with the role in each. `destination` is for tests; standard output otherwise. */
export function createLog(role: string, level: string, destination?: DestinationStream): Logger {
  const options = { level, base: { role }, serializers: { err: loggedError } };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** For errors that come by the hundred while a dependency is down: at most one line a second, with the number left out since the last. */
export function throttledErrors(log: Pick<Logger, 'error'>, text: string): (error: unknown) => void {
  let suppressed = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - lastMs < 1000) {
      suppressed += 1;
      return;
    }
    log.error({ err: error, suppressed }, text);
    lastMs = performance.now();
    suppressed = 0;
  };
}
