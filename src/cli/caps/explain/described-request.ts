import { METHODS } from 'node:http';
import { readAuthority } from '../../../kernel/host.ts';
import type { PolicyBody, PolicyRequest } from '../../../policy/compiled-policy.ts';
import { canonicalRequest } from '../../../proxy/canonical-request.ts';
import type { CanonicalRequest, DoorContext } from '../../../proxy/contract.ts';
import type { HeaderField } from '../../../transforms/contract.ts';

export type DescribedWorkspace = PolicyRequest['workspace'];

/** A request as a person writes it down. Nothing of it is repaired: the path and the query of `url` reach the policy as they are. */
export type DescribedRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly HeaderField[];
  /** Empty for none. */
  readonly body: Uint8Array;
  readonly workspace: DescribedWorkspace;
  /** '' outside of a task. */
  readonly taskId: string;
};

/** Who asks where nothing says so: a role or an environment is never assumed. */
export const someWorkspace: DescribedWorkspace = { id: 'workspace-1', orgId: 'org-1', role: '', environment: '' };

/** The request as rules and transforms see it. */
export type ReadRequest = { readonly canonical: CanonicalRequest; readonly policy: PolicyRequest; readonly body: PolicyBody; /** Undefined for a chunked body. */ readonly bodyBytes: number | undefined };

/** `refused`: the proxy turns it away before any rule is looked at, with this as `detail.refused`. */
export type Read = ReadRequest | { readonly refused: string };

/** The largest body that a rule may look into, where the proxy is not told otherwise. */
export const bodyBytesMax = 10 * 1_048_576;

/** Why this is no method that could be asked for, or undefined. */
export function methodComplaint(method: string): string | undefined {
  if (METHODS.includes(method)) return undefined;
  const upper = method.toUpperCase();
  return `${JSON.stringify(method.slice(0, 40))} is not an HTTP method${METHODS.includes(upper) ? `; did you mean ${upper}?` : ''}`;
}

/** Why no client could send this header, or why it is not for the description to say. */
export function headerComplaint([name, value]: HeaderField): string | undefined {
  const shown = JSON.stringify(name.slice(0, 80));
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return `${shown} is not a header name`;
  if (/^content-length$/i.test(name)) return `${name} follows from the body, leave it out`;
  return /[^\t\x20-\x7e\x80-\xff]/.test(value) ? `the value of ${shown} has characters that no header can carry` : undefined;
}

const urlForm = /^(https?):\/\/([^/?#\\]*)(.*)$/is;

/** Why this address has no host that could be decided by, or undefined. Odd paths and queries are no complaint: the proxy refuses them. */
export function urlComplaint(url: string): string | undefined {
  const parts = urlForm.exec(url);
  if (parts === null) return 'must begin with http:// or https:// and a host';
  if (url.includes('#')) return 'has a fragment (#…), which no client sends';
  const authority = readAuthority(parts[2] ?? '');
  return 'refused' in authority ? authorityComplaints[authority.refused] : undefined;
}

const authorityComplaints = {
  empty: 'has no host',
  not_ascii: 'has a host outside of ASCII; write it in its xn-- form',
  bad_character: 'has a host with characters that no host name has',
  empty_label: 'has a host with an empty label (two dots in a row)',
  label_too_long: 'has a host with a label of more than 63 characters',
  too_long: 'has a host of more than 253 characters',
  bad_ipv4: 'has a host that ends in a number without being an IPv4 address in four decimal parts',
  bad_ipv6: 'has something in brackets that is no IPv6 address, or an IPv6 address without brackets',
  userinfo: 'has a user name or password (…@); say it as an Authorization header',
  bad_port: 'has a port that is no number from 1 to 65535',
} as const;

/** The description as the proxy would read the request off the wire. Throws for what the complaints above are about. */
export function readDescribed({ method, url, headers, body, workspace, taskId }: DescribedRequest): Read {
  const complaint = methodComplaint(method) ?? urlComplaint(url);
  const parts = urlForm.exec(url);
  if (complaint !== undefined || parts === null) throw new Error(complaint);
  const [, protocol = '', authority = '', rest = ''] = parts;
  const target = rest.startsWith('/') ? rest : `/${rest}`;
  const canonical = canonicalRequest({
    method,
    target: protocol.toLowerCase() === 'http' ? `http://${authority}${target}` : target,
    httpVersion: '1.1',
    rawHeaders: [...headers, ...framing(authority, headers, body)].flat(),
  }, doorOf(protocol, authority));
  if ('refused' in canonical) return { refused: canonical.refused };
  if ('reason' in canonical) throw new Error('https came in through the door of http');
  const { scheme, host, port, path, rawQuery, headerMap } = canonical;
  return {
    canonical,
    policy: { method, scheme, host, port, path, rawQuery, headers: headerMap, hasBody: canonical.body !== 'none', workspace, task: { id: taskId } },
    body: { contentType: headerMap.get('content-type'), text: textOf(body, headerMap.get('content-encoding')) },
    bodyBytes: canonical.body === 'chunked' ? undefined : body.length,
  };
}

/** What every client adds by itself. */
function framing(authority: string, headers: readonly HeaderField[], body: Uint8Array): readonly HeaderField[] {
  const has = (wanted: string): boolean => headers.some(([name]) => name.toLowerCase() === wanted);
  return [
    ...(has('host') ? [] : [['host', authority] as const]),
    ...(body.length === 0 || has('transfer-encoding') ? [] : [['content-length', String(body.length)] as const]),
  ];
}

function doorOf(protocol: string, text: string): DoorContext {
  if (protocol.toLowerCase() === 'http') return { door: 'plain' };
  const authority = readAuthority(text);
  if ('refused' in authority) throw new Error('a host that was read before');
  return { door: 'tunnel', host: authority.host.text, port: authority.port ?? 443, sni: undefined, connectHeaders: [] };
}

/** Undefined where no rule may look into it: not UTF-8, or compressed. */
function textOf(body: Uint8Array, encoding: string | undefined): string | undefined {
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}
