import type { HostPattern } from '../model.ts';

/** Whether a canonical host (IPv6 without brackets) is one that the pattern means, label by label; the port is judged apart. */
export function hostMatches(pattern: HostPattern, host: string): boolean {
  if (pattern.kind !== 'name') return pattern.labels[0] === host;
  if (!pattern.wildcard) return pattern.labels.join('.') === host;
  if (isAddress(host)) return false;
  const labels = host.split('.');
  return labels.length === pattern.labels.length && pattern.labels.every((label, index) => labelMatches(label, labels[index] ?? ''));
}

/** `*` is one whole label, or any part of one. */
export function labelMatches(pattern: string, label: string): boolean {
  const star = pattern.indexOf('*');
  if (star === -1) return pattern === label;
  const before = pattern.slice(0, star);
  const after = pattern.slice(star + 1);
  return label.length >= before.length + after.length && label.length > 0 && label.startsWith(before) && label.endsWith(after);
}

/** The port a pattern admits for a scheme. */
export function portMatches(pattern: HostPattern, scheme: 'http' | 'https', port: number): boolean {
  return port === (pattern.port ?? (scheme === 'https' ? 443 : 80));
}

/** An address never matches a wildcard: `10.0.0.*` is a host name pattern. A canonical host whose last label is a number is an IPv4 address. */
function isAddress(host: string): boolean {
  return host.includes(':') || /\.[0-9]+$/.test(host);
}
