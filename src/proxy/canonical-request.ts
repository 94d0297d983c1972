import { readAuthority } from '../kernel/host.ts';
import type { CanonicalRequest, DoorContext, Refusal } from './contract.ts';
import { readHeaders } from './canonical-headers.ts';
import { readTarget } from './canonical-target.ts';

export type WireRequest = { readonly method: string; readonly target: string; readonly httpVersion: string; readonly rawHeaders: readonly string[] };

/** `no_scheme` is a deny reason of its own (contract 6.3): https spoken in clear to the proxy port would lose its encryption. */
export type Canonical = CanonicalRequest | Refusal | { readonly reason: 'no_scheme' };

/**
 * The canonical request, or why there is none (design 10). All refusals happen before any rule is looked at.
 */
export function canonicalRequest(wire: WireRequest, door: DoorContext): Canonical {
  if (wire.httpVersion !== '1.1') return refuse('http_version', 505);
  if (wire.method === 'TRACE' || wire.method === 'TRACK') return refuse('method_trace', 405);
  if (wire.method === 'CONNECT') return refuse('nested_connect');
  const headers = readHeaders(wire.rawHeaders, wire.method);
  if ('refused' in headers) return headers;
  const target = readTarget(wire.target);
  if ('refused' in target) return refuse(target.refused);
  const named = readAuthority(headers.host);
  if ('refused' in named) return refuse(`host_${named.refused}`);

  const destination = destinationOf(target.scheme, target.authority, door);
  if ('reason' in destination || 'refused' in destination) return destination;
  const { scheme, host, port } = destination;
  const defaultPort = scheme === 'https' ? 443 : 80;
  if (named.host.text !== host || (named.port ?? defaultPort) !== port) return refuse('host_mismatch', 421);
  return {
    method: wire.method, scheme, host, port, path: target.path, rawQuery: target.rawQuery,
    headers: headers.headers, headerMap: headers.headerMap, body: headers.body, expectContinue: headers.expectContinue, upgrade: headers.upgrade,
  };
}

type Destination = { readonly scheme: 'http' | 'https'; readonly host: string; readonly port: number };

function destinationOf(
  scheme: 'http' | 'https' | undefined,
  authority: { readonly host: { readonly text: string }; readonly port: number | undefined } | undefined,
  door: DoorContext,
): Destination | Refusal | { readonly reason: 'no_scheme' } {
  if (door.door === 'plain') {
    if (scheme === undefined || authority === undefined) return refuse('not_a_proxy_request');
    if (scheme === 'https') return { reason: 'no_scheme' };
    return { scheme, host: authority.host.text, port: authority.port ?? 80 };
  }
  if (door.door === 'tunnel' && door.sni !== undefined && door.sni !== door.host) return refuse('sni_mismatch', 421);
  if (authority !== undefined) {
    const same = scheme === 'https' && authority.host.text === door.host && (authority.port ?? 443) === door.port;
    if (!same) return refuse('target_mismatch', 421);
  }
  return { scheme: 'https', host: door.host, port: door.port };
}

function refuse(refused: string, status = 400): Refusal {
  return { refused, status };
}
