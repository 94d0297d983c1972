import type { EmittedEvent } from '../../events/emitter.ts';
import { readHost } from '../../kernel/host.ts';
import type { CompiledPolicy } from '../../policy/compiled-policy.ts';
import type { DenyReason } from '../../events/enumerations.ts';
import type { Attribution } from '../verdict.ts';
import { capabilityOf, lookupRow } from './lookup-row.ts';
import type { Query } from './read-query.ts';
import type { Resolution, Resolve } from './resolution.ts';
import { ResolveError } from './resolution.ts';
import type { SyntheticAddresses } from './synthetic-addresses.ts';
import type { AddressType } from './wire.ts';
import { rcodes, types } from './wire.ts';
import type { Answer } from './write-answer.ts';
import { refusedAnswer, servfailAnswer } from './write-answer.ts';

/** Whose queries come from an address, and what decides on them. */
export type DnsClient = {
  readonly policy: CompiledPolicy | 'broken' | undefined;
  readonly attribution: Attribution & { readonly workspaceId: string };
  /** `report`: names the policy denies are resolved like others, and their row says so. */
  readonly enforcement?: 'enforce' | 'report';
};

export type AnswerDeps = {
  /** Undefined for an address no workspace is known for; a rejection is answered SERVFAIL. */
  readonly workspaceOf: (clientAddress: string) => Promise<DnsClient | undefined>;
  readonly resolve: Resolve;
  /** Whether the upstream leg would connect to an address that the name resolved to (design 10). One that it would not is never given out. */
  readonly mayConnect: (address: string, name: string) => boolean;
  readonly addresses: SyntheticAddresses;
  /** Rejects when the row is not written: then the query counts as undecided and gets SERVFAIL. */
  readonly record: (row: EmittedEvent) => Promise<void>;
  /** Suffixes that no policy opens: names that mean something else in each network. */
  readonly neverResolved: readonly string[];
  /** Whether denied names have IPv6 addresses too: only where connections to them lead here. */
  readonly syntheticIpv6: boolean;
  readonly nowMs: () => number;
  readonly onFault: (error: unknown) => void;
};

export type AnswerQuery = (query: Query, clientAddress: string) => Promise<Answer>;

/** Resolvers, Kubernetes and clouds answer these from the inside; a wildcard in a policy must not reach there. */
export const neverResolvedDefault: readonly string[] = ['local', 'localhost', 'internal', 'intranet', 'lan', 'home.arpa', 'in-addr.arpa', 'ip6.arpa', 'invalid', 'onion'];

const resolvedTtlSecondsMax = 30;
/** A policy may change: what was denied is asked for anew soon, and so is what did not exist. */
const syntheticTtlSeconds = 5;
const negativeTtlSeconds = 5;

const nodata: Answer = { rcode: rcodes.noerror, addresses: [], ttlSeconds: 0, negativeTtlSeconds };
const nxdomain: Answer = { ...nodata, rcode: rcodes.nxdomain };

/**
 * Decides one well-formed query (contract 6.3, DNS). An admitted name is resolved and leaves its one row, written before the answer goes
 * out. A denied one gets an address of its own, no row, and never leaves the proxy: the connection that follows is what is denied. Only A
 * and AAAA have answers: other types carry what an agent does not need (and HTTPS records the keys that hide SNI). Never rejects.
 */
export function createAnswerQuery(deps: AnswerDeps): AnswerQuery {
  async function admitted(client: DnsClient, name: string, type: AddressType, wouldDeny: DenyReason | undefined): Promise<Answer> {
    const startedMs = deps.nowMs();
    const outcome = await deps.resolve(name, type).catch((error: unknown) => failureOf(error, deps.onFault));
    const found = typeof outcome === 'string' ? undefined : outcome;
    // One address is enough to refuse all (as when connecting): a client told only the others would come to the first by asking again.
    const reachable = found === undefined || found.addresses.every((address) => deps.mayConnect(address, name) && !deps.addresses.owns(address));
    const failure = typeof outcome === 'string' ? outcome : reachable ? undefined : 'address_refused';
    await deps.record(lookupRow({
      attribution: client.attribution, name, type,
      capability: typeof client.policy === 'object' ? capabilityOf(client.policy, name) : undefined,
      latencyMs: Math.max(0, Math.round(deps.nowMs() - startedMs)),
      rcode: found?.rcode ?? 'SERVFAIL',
      addresses: found?.addresses ?? [],
      ...(failure === undefined ? {} : { failure }),
      ...(wouldDeny === undefined ? {} : { wouldDeny }),
    }));
    if (found === undefined) return servfailAnswer;
    return reachable ? resolved(found) : synthetic(client, name, type);
  }

  function synthetic({ attribution }: DnsClient, name: string, type: AddressType): Answer {
    if (type === 'AAAA' && !deps.syntheticIpv6) return nodata;
    return { rcode: rcodes.noerror, addresses: [deps.addresses.addressOf(attribution.workspaceId, name, type)], ttlSeconds: syntheticTtlSeconds };
  }

  async function answer(query: Query, clientAddress: string): Promise<Answer> {
    if (query.edns !== undefined && query.edns.version !== 0) return { ...refusedAnswer, rcode: rcodes.badvers };
    const client = await deps.workspaceOf(clientAddress);
    if (client === undefined) return refusedAnswer;
    const type = query.type === types.a ? 'A' : query.type === types.aaaa ? 'AAAA' : undefined;
    if (type === undefined || query.name === '') return nodata;
    const host = query.name === undefined ? undefined : readHost(query.name);
    // What cannot be the host of a request (spaces, NUL, non-ASCII, `1.2.3.4` as a name) does not exist.
    if (host === undefined || 'refused' in host || host.kind !== 'name') return nxdomain;
    const name = host.text;
    const denied = deniedFor(client.policy, name);
    const closed = deps.neverResolved.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
    if (closed || (denied !== undefined && client.enforcement !== 'report')) return synthetic(client, name, type);
    return admitted(client, name, type, denied);
  }

  return async (query, clientAddress) => {
    try {
      return await answer(query, clientAddress);
    } catch (error) {
      deps.onFault(error);
      return servfailAnswer;
    }
  };
}

function deniedFor(policy: CompiledPolicy | 'broken' | undefined, name: string): DenyReason | undefined {
  if (policy === undefined) return 'no_policy';
  if (policy === 'broken') return 'policy_error';
  return policy.admitsHost(name) ? undefined : 'no_match';
}

function resolved({ rcode, addresses, ttlSeconds }: Resolution): Answer {
  if (rcode === 'NXDOMAIN') return nxdomain;
  if (addresses.length === 0) return nodata;
  return { rcode: rcodes.noerror, addresses, ttlSeconds: Math.min(Math.floor(ttlSeconds), resolvedTtlSecondsMax) };
}

/** A slug for the row. Anything but a ResolveError is a defect of ours, and the lookup may have been sent: it keeps its row. */
function failureOf(error: unknown, onFault: (error: unknown) => void): string {
  if (error instanceof ResolveError) return error.failure;
  onFault(error);
  return 'internal_error';
}
