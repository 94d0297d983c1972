import type { AuthProvider } from '../kernel/auth-providers.ts';
import type { CelProgram } from './cel/contract.ts';
import type { Position } from './document/node.ts';
import type { CompiledSchema } from './schema/contract.ts';

/** A capability document that passed every rule of contract 2.7, normalised and with its expressions compiled. Deeply immutable. */
export type Policy = { readonly capabilities: readonly Capability[] };

export const httpMethods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** Where something stands in the document. */
export type Placed = { readonly path: string; readonly position: Position | undefined };

export type Capability = Placed & {
  readonly name: string;
  readonly allow: readonly AllowRule[];
  readonly transforms: readonly Transform[];
  readonly counters: readonly Counter[];
};

/** Normalised: trimmed, lower case, default ports and the trailing dot dropped. */
export type HostPattern = Placed & {
  /** As shown to people: `*.example.com`, `[::1]:8080`. IPv6 in its RFC 5952 form. */
  readonly text: string;
  readonly kind: 'name' | 'ipv4' | 'ipv6';
  /** Labels of a name, left to right; the address as the only entry otherwise (IPv6 without brackets). */
  readonly labels: readonly string[];
  readonly wildcard: boolean;
  /** Only when the entry names a port that is not a default one. */
  readonly port: number | undefined;
};

export type AllowRule = Placed & {
  readonly capability: string;
  readonly name: string | undefined;
  /** The name, or `allow[N]` by position. */
  readonly id: string;
  readonly index: number;
  readonly domains: readonly HostPattern[];
  readonly methods: readonly HttpMethod[];
  /** Empty means any path. */
  readonly paths: readonly string[];
  readonly allowInsecure: boolean;
  readonly match: { readonly program: CelProgram<'bool'>; readonly requiresBody: boolean } | undefined;
  readonly requestFormat: '' | 'application/json';
  readonly schema: CompiledSchema | undefined;
};

/** A value compiled for one rule: `request.body` is typed by that rule's schema. */
export type ValueFor<R extends 'string' | 'string_map'> = (rule: AllowRule) => CelProgram<R>;

export type TransformVariant =
  | { readonly kind: 'header'; readonly name: string; readonly action: 'set' | 'add'; readonly value: ValueFor<'string'> }
  | { readonly kind: 'header'; readonly name: string; readonly action: 'remove' }
  | { readonly kind: 'path'; readonly action: 'replace'; readonly pattern: string; readonly value: ValueFor<'string'> }
  | { readonly kind: 'path'; readonly action: 'prefix'; readonly value: ValueFor<'string'> }
  | { readonly kind: 'query'; readonly key: string; readonly action: 'set'; readonly value: ValueFor<'string'> }
  | { readonly kind: 'query'; readonly key: string; readonly action: 'remove' }
  | { readonly kind: 'body'; readonly action: 'merge'; readonly value: ValueFor<'string_map'> }
  | { readonly kind: 'body'; readonly action: 'prefix'; readonly key: string; readonly value: ValueFor<'string'> }
  | { readonly kind: 'auth'; readonly credential: string; readonly provider: AuthProvider };

export type Transform = Placed & {
  readonly capability: string;
  readonly name: string | undefined;
  /** The name, or `transform[N]` by position in the capability (contract 6.4). */
  readonly id: string;
  readonly index: number;
  /** Names of allow rules; empty means all. */
  readonly appliesTo: readonly string[];
  readonly requiresBody: boolean;
  readonly variant: TransformVariant;
};

/** Inclusive at both ends. */
export type StatusRange = { readonly from: number; readonly to: number };

/** `max` 0 means unlimited; `ttlMs` undefined means it never resets. */
export type Scope = Placed & { readonly max: bigint; readonly ttlMs: number | undefined };

export type Terminator =
  | { readonly kind: 'event_type'; readonly value: string }
  | { readonly kind: 'sentinel'; readonly value: string }
  | { readonly kind: 'cel'; readonly program: CelProgram<'bool'> };

export type CounterSource = 'request.count' | 'request.bytes' | 'response.bytes' | 'response';

export type Counter = Placed & {
  readonly capability: string;
  readonly name: string;
  readonly source: CounterSource;
  readonly value: CelProgram<'integer'> | undefined;
  readonly requiresBody: boolean;
  readonly framing: '' | 'single_document' | 'sse';
  readonly format: '' | 'application/json';
  readonly encoding: '' | 'identity';
  readonly sseEvent: string | undefined;
  readonly statusCodes: readonly StatusRange[];
  readonly accumulator: 'max' | 'sum' | 'last' | undefined;
  readonly reservePerRequest: bigint;
  readonly failureCharge: bigint;
  /** 0 means unlimited. */
  readonly maxConcurrent: number;
  readonly workspace: Scope | undefined;
  readonly task: Scope | undefined;
  readonly terminator: Terminator | undefined;
};
