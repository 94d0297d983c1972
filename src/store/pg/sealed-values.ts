import type { Secret } from '../../kernel/secret.ts';

/**
 * How the stores of secrets and credentials seal what they keep (src/identity/sealing.ts, which this layer may not import). The owner is
 * bound into the sealed bytes. Both throw when the service holds no key that fits.
 */
export type ValueSealer = {
  readonly seal: (value: Secret, owner: SealedOwner) => Buffer;
  readonly open: (sealed: Uint8Array, owner: SealedOwner) => Secret;
};

export type SealedOwner = { readonly kind: 'secret' | 'credential'; readonly orgId: string; readonly name: string; readonly userId?: string | undefined };
