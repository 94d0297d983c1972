/**
 * Whether a request's headers agree with `request_format: application/json`. Exactly that media type, UTF-8 when a charset is named, and
 * no content coding: what the policy reads must be what the upstream reads.
 */
export function formatAgrees(headers: ReadonlyMap<string, string>): boolean {
  const coding = headers.get('content-encoding');
  if (coding !== undefined && coding.trim().toLowerCase() !== 'identity') return false;
  return isJson(headers.get('content-type'));
}

export function isJson(contentType: string | undefined): boolean {
  const [type, ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase());
  return type === 'application/json' && parameters.every((parameter) => !parameter.startsWith('charset=') || /^charset="?utf-8"?$/.test(parameter));
}
