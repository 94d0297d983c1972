import type { AuthProvider } from '../kernel/auth-providers.ts';
import type { CredentialKind, CredentialOwner, CredentialStatus, StoredCredential } from './vault.ts';

/** What `credential_status` says (contract 6.2): `id` is its `resource_id`, the rest its detail. */
export type StatusChange = {
  readonly owner: CredentialOwner;
  readonly id: string;
  readonly name: string;
  readonly provider: AuthProvider;
  readonly kind: CredentialKind;
  readonly fromStatus: CredentialStatus;
  readonly toStatus: CredentialStatus;
  readonly reason: string;
  readonly terminal: boolean;
};

export type Found = { readonly status: CredentialStatus; readonly reason: string; readonly terminal: boolean };

/**
 * Reports changes of status, each once: the record that is loaded next may still show the old status, because the report travels.
 * Remembers at most `entriesMax` of them; one that was forgotten is reported again, which is harmless.
 */
export function createStatusReports(onStatus: (change: StatusChange) => void, entriesMax: number): (owner: CredentialOwner, stored: StoredCredential, found: Found) => void {
  const reported = new Map<string, string>();
  return function report(owner, { id, name, provider, kind, status: fromStatus }, { status: toStatus, reason, terminal }) {
    const change = `${fromStatus} ${toStatus}`;
    const known = reported.get(id);
    reported.delete(id);
    if (fromStatus === toStatus) return;
    reported.set(id, change);
    if (known === change) return;
    for (const oldest of reported.keys()) {
      if (reported.size <= entriesMax) break;
      reported.delete(oldest);
    }
    onStatus({ owner, id, name, provider, kind, fromStatus, toStatus, reason, terminal });
  };
}
