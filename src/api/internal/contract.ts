import type { Logger } from 'pino';
import type { CredentialStore } from '../../store/pg/credentials.ts';
import type { SecretStore } from '../../store/pg/secrets.ts';
import type { WorkspacePolicyStore } from '../../store/pg/workspace-policies.ts';

/** What the internal API may use: it reads, and changes nothing. */
export type InternalDeps = {
  readonly policies: Pick<WorkspacePolicyStore, 'runningWorkspace'>;
  readonly secrets: Pick<SecretStore, 'openSecrets'>;
  readonly credentials: Pick<CredentialStore, 'openCredential'>;
  /** For orgs that set none themselves. */
  readonly retentionDays: number;
  readonly serviceToken: string;
  readonly logger: Logger;
};
