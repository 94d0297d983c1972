import t from 'tap';
import type { ErrorCode } from '../../src/kernel/errors.ts';
import { AppError, errorStatus, validationError } from '../../src/kernel/errors.ts';

/** Contract 7 and design 7 and 8. Codes may be added; these may not change. */
const statuses: Record<string, number> = {
  permission_denied: 403, validation_error: 400, workspace_not_found: 404, invalid_cursor: 400, owner_only: 403, self_delete_forbidden: 403,
  pending_invitation: 409, last_owner: 409, auth_disabled: 503,
  unauthenticated: 401, tenant_blocked: 403, not_found: 404, conflict: 409, in_use: 409, payload_too_large: 413, unsupported_media_type: 415,
  rate_limited: 429, dependency_unavailable: 503, internal: 500,
  too_many_buckets: 400,
};

t.test('the table of codes and statuses', async (t) => {
  t.strictSame(Object.fromEntries(Object.entries(errorStatus).filter(([code]) => Object.hasOwn(statuses, code))), statuses);
  for (const [code, status] of Object.entries(errorStatus)) {
    t.match(code, /^[a-z][a-z_]*[a-z]$/, `${code} is a slug`);
    t.ok(status >= 400 && status <= 599, `${code} has an error status`);
  }
});

t.test('an AppError carries code, status, details and cause', async (t) => {
  const cause = new Error('inner');
  for (const [code, status] of Object.entries(statuses)) {
    const error = new AppError(code as ErrorCode, 'text', { state: 'past_due' }, { cause });
    t.equal(error.status, status, code);
    t.equal(error.code, code);
    t.equal(error.message, 'text');
    t.same(error.details, { state: 'past_due' });
    t.equal(error.cause, cause);
    t.ok(error instanceof Error);
  }
  t.equal(new AppError('not_found', 'text').details, undefined);
});

t.test('a validation error has its fields in details and in the message', async (t) => {
  const error = validationError({ limit: 'must be from 1 to 10000', from: 'must be an RFC 3339 date-time' });
  t.equal(error.code, 'validation_error');
  t.equal(error.status, 400);
  t.same(error.details, { fields: { limit: 'must be from 1 to 10000', from: 'must be an RFC 3339 date-time' } });
  t.equal(error.message, 'limit: must be from 1 to 10000; from: must be an RFC 3339 date-time');
});
