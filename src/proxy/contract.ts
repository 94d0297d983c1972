import type { Secret } from '../kernel/secret.ts';
import type { CompiledPolicy } from '../policy/compiled-policy.ts';
import type { CompiledSchema } from '../policy/schema/contract.ts';
import type { HeaderField } from '../transforms/contract.ts';

/** Through which door a request came, and what that door already knows of its destination. */
export type DoorContext =
  | { readonly door: 'plain' }
  /** Inside a terminated CONNECT. `host` and `port` are the canonical CONNECT target; the token came with the CONNECT. */
  | { readonly door: 'tunnel'; readonly host: string; readonly port: number; readonly sni: string | undefined; readonly connectHeaders: readonly string[] }
  /** Transparent TLS: the name comes from SNI, or from the synthetic address a denied name was given. `token` is that of the client's address. */
  | { readonly door: 'transparent'; readonly host: string; readonly port: number; readonly token: Secret | undefined };

/**
 * One request in the only form that decision, row and bytes are made from (design 1, promise 3). ASCII host in lower case without trailing
 * dot, IPv6 in RFC 5952 form without brackets; raw path without dot segments, `//`, `\`, `#`, controls or `%00`.
 */
export type CanonicalRequest = {
  readonly method: string;
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly rawQuery: string;
  /** In wire order, hop-by-hop headers, the capability token and Host removed. */
  readonly headers: readonly HeaderField[];
  /** Lower-case names, repeated ones joined with `,`. */
  readonly headerMap: ReadonlyMap<string, string>;
  readonly body: 'none' | { readonly length: number } | 'chunked';
  readonly expectContinue: boolean;
  readonly upgrade: string | undefined;
};

export type Refusal = { readonly refused: string; readonly status: number };

/** Anything of a workspace that requests need, as the control plane gave it. */
export type ActiveWorkspace = {
  readonly id: string;
  readonly orgId: string;
  readonly createdBy: string;
  readonly agentRole: string;
  readonly agentProvider: string;
  readonly environment: string;
  readonly enforcement: 'enforce' | 'report';
  readonly retentionDays: number;
  /** Undefined: none attached. `broken`: one is attached that does not compile. */
  readonly policy: CompiledPolicy | 'broken' | undefined;
  readonly secrets: ReadonlyMap<string, string>;
  /** By agent event type (contract 6.6); a type without a schema takes any object. */
  readonly eventSchemas: ReadonlyMap<string, CompiledSchema>;
  /** Aborted when the workspace is deactivated: requests in flight end as `workspace_gone`. */
  readonly gone: AbortSignal;
};

export type WorkspaceRegistry = {
  /** Activates on first use, single-flight. Undefined for one the control plane does not know (or has stopped or archived). Rejects when it cannot be asked. */
  get(workspace: { readonly id: string; readonly orgId: string }): Promise<ActiveWorkspace | undefined>;
  /** Drops a workspace, aborting its requests. */
  deactivate(id: string): void;
  /** Lets the next request load it anew; requests in flight keep what they began with. */
  refresh(id: string): void;
  readonly size: number;
  stop(): Promise<void>;
};

/** Why an upstream could not answer. `sent` tells whether request bytes may have left the proxy (budgets are given back only when not). */
export type UpstreamFailure =
  | 'address_refused'
  | 'resolve_failed'
  | 'connect_failed'
  | 'connect_timeout'
  | 'tls_failed'
  | 'headers_timeout'
  | 'body_timeout'
  | 'reset'
  | 'protocol_error'
  | 'aborted';
