import { isIPv4, isIPv6 } from 'node:net';

/** A host as decisions, rows and connections name it: lower case, no trailing dot, IPv6 in RFC 5952 form without brackets. */
export type Host = { readonly kind: 'name' | 'ipv4' | 'ipv6'; readonly text: string };

export type HostRefusal = 'empty' | 'not_ascii' | 'bad_character' | 'empty_label' | 'label_too_long' | 'too_long' | 'bad_ipv4' | 'bad_ipv6';

const labelCharactersMax = 63;
const nameCharactersMax = 253;

/**
 * Reads a host as it stands on the wire (Host header, CONNECT target, SNI, DNS name), without brackets around IPv6. Nothing is decoded,
 * mapped or repaired: `new URL` turns `127。1`, `0x7f.1` and `ex%61mple.com` into other hosts than the text shows, which is how a policy
 * comes to approve one host and a connection to reach another. One trailing dot is dropped.
 */
export function readHost(text: string): Host | { readonly refused: HostRefusal } {
  if (text.includes(':')) return readIPv6(text);
  if (/[^\u0000-\u007f]/.test(text)) return { refused: 'not_ascii' };
  const name = (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase();
  if (name === '') return { refused: 'empty' };
  if (name.length > nameCharactersMax) return { refused: 'too_long' };
  if (!/^[a-z0-9._-]+$/.test(name)) return { refused: 'bad_character' };
  const labels = name.split('.');
  if (labels.includes('')) return { refused: 'empty_label' };
  if (labels.some((label) => label.length > labelCharactersMax)) return { refused: 'label_too_long' };
  // A last label that is a number makes every resolver read an IPv4 address, in forms that only look like other text (127.1, 0x7f.1).
  if (/^([0-9]+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) return isIPv4(name) ? { kind: 'ipv4', text: name } : { refused: 'bad_ipv4' };
  return { kind: 'name', text: name };
}

/** An address without zone; `::FFFF:10.0.0.1` and `0:0::1` come out as one text each. */
export function readIPv6(text: string): Host | { readonly refused: HostRefusal } {
  if (text.includes('%') || !isIPv6(text)) return { refused: 'bad_ipv6' };
  return { kind: 'ipv6', text: new URL(`http://[${text}]/`).hostname.slice(1, -1) };
}

export type Authority = { readonly host: Host; readonly port: number | undefined };

/** `host`, `host:port`, `[ipv6]`, `[ipv6]:port`. No userinfo, no path; a port is 1 to 65535 in plain digits. */
export function readAuthority(text: string): Authority | { readonly refused: HostRefusal | 'userinfo' | 'bad_port' } {
  if (text.includes('@')) return { refused: 'userinfo' };
  const parts = text.startsWith('[') ? /^\[([^\]]*)\](?::(.*))?$/s.exec(text) : /^([^:]*)(?::(.*))?$/s.exec(text);
  if (parts === null) return { refused: text.startsWith('[') ? 'bad_ipv6' : 'bad_character' };
  const host = text.startsWith('[') ? readIPv6(parts[1] ?? '') : readHost(parts[1] ?? '');
  if ('refused' in host) return host;
  const port = readPort(parts[2]);
  return port === 'bad' ? { refused: 'bad_port' } : { host, port };
}

function readPort(text: string | undefined): number | undefined | 'bad' {
  if (text === undefined) return undefined;
  if (!/^[1-9][0-9]{0,4}$/.test(text)) return 'bad';
  const port = Number(text);
  return port <= 65535 ? port : 'bad';
}

/** As it stands in a Host header or a URL: the port left out where it is the scheme's. */
export function writeAuthority(scheme: 'http' | 'https', host: string, port: number): string {
  const shown = host.includes(':') ? `[${host}]` : host;
  return port === (scheme === 'https' ? 443 : 80) ? shown : `${shown}:${port}`;
}
