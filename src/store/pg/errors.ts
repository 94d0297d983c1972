import { AppError } from '../../kernel/errors.ts';

/** Codes of postgres.js and of the socket that mean: nobody answered, or the answer will never come. */
const driverCodes = new Set([
  'CONNECT_TIMEOUT', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED',
  'ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH',
]);

/** SQLSTATE: shutting down, crashed, starting, statement timeout, no connection left, disk full, out of memory, read-only standby. */
const serverStates = new Set(['57P01', '57P02', '57P03', '57014', '53300', '53200', '53100', '25006', '55P03']);

export function errorCode(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** True when Postgres cannot serve at the moment, and the same call may succeed later. */
export function isPostgresUnavailable(error: unknown): boolean {
  const code = errorCode(error);
  return code !== undefined && (driverCodes.has(code) || serverStates.has(code) || /^08/.test(code));
}

/** SQLSTATE 23505: what is created exists already. */
export function isUniqueViolation(error: unknown): boolean {
  return errorCode(error) === '23505';
}

/** Wraps "Postgres cannot serve" into `dependency_unavailable` (design 8); everything else passes as it is. */
export function asAppError(error: unknown): unknown {
  if (!isPostgresUnavailable(error)) return error;
  return new AppError('dependency_unavailable', 'the database does not answer', { dependency: 'postgres' }, { cause: error });
}
