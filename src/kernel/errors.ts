/**
 * The closed table of API error codes (contract 7, design 8). The HTTP status is a column of this table: adding a code is one row.
 */
export const errorStatus = {
  validation_error: 400,
  invalid_cursor: 400,
  too_many_buckets: 400,
  unauthenticated: 401,
  permission_denied: 403,
  owner_only: 403,
  self_delete_forbidden: 403,
  tenant_blocked: 403,
  not_found: 404,
  workspace_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  in_use: 409,
  pending_invitation: 409,
  last_owner: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  auth_disabled: 503,
  dependency_unavailable: 503,
  query_too_expensive: 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

export type ErrorDetails = { readonly fields?: Readonly<Record<string, string>>; readonly [key: string]: unknown };

/**
 * An error whose message may be shown to the caller. Everything else that is thrown becomes `internal` with a fixed text,
 * so that no stack, SQL or secret can leave through a message (contract 2.6).
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails | undefined;

  constructor(code: ErrorCode, message: string, details?: ErrorDetails, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'AppError';
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return errorStatus[this.code];
  }
}

/** `validation_error` with its per-field map at `details.fields` (contract 2.6). */
export function validationError(fields: Readonly<Record<string, string>>): AppError {
  const summary = Object.entries(fields).map(([field, text]) => `${field}: ${text}`).join('; ');
  return new AppError('validation_error', summary, { fields });
}
