import { formatOf } from '../../../credentials/sinks.ts';
import type { AuthProvider } from '../../../kernel/auth-providers.ts';
import type { CompiledPolicy } from '../../../policy/compiled-policy.ts';

/**
 * Texts that stand for secrets while a request is rewritten. What is shown is «secret:NAME», but a header takes ASCII only: these go through
 * headers, queries (nothing in them is percent-encoded) and JSON unchanged and are told apart afterwards.
 */
export type StandIns = {
  /** One for each secret that the policy names. */
  readonly secrets: ReadonlyMap<string, string>;
  /** What a provider is sent, in the spelling that it wants. */
  readonly credential: (name: string, provider: AuthProvider) => string;
  /** A text with the placeholders that people see. */
  readonly shown: (text: string) => string;
};

export function createStandIns({ secretKeys, credentials }: Pick<CompiledPolicy, 'secretKeys' | 'credentials'>): StandIns {
  const credentialNames = [...credentials];
  return {
    secrets: new Map(secretKeys.map((key) => [key, `~customhouse.secret.${key}~`])),
    credential: (name, provider) => spelled(`~customhouse.credential.${credentialNames.indexOf(name)}~`, provider),
    shown: (text) => text
      .replace(/~customhouse\.secret\.([A-Za-z0-9_-]+)~/g, (whole, key: string) => (secretKeys.includes(key) ? `«secret:${key}»` : whole))
      .replace(/~customhouse\.credential\.([0-9]+)~/g, (whole, index: string) => (credentialNames[Number(index)] === undefined ? whole : `«credential:${credentialNames[Number(index)]}»`)),
  };
}

function spelled(token: string, provider: AuthProvider): string {
  switch (formatOf(provider)) {
    case 'bearer': return `Bearer ${token}`;
    case 'token': return `Token token=${token}`;
    case 'plain': return token;
    case 'basic':
    case 'keyAsUser': return `Basic ${token}`;
  }
}
