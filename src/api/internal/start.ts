import type { Logger } from 'pino';
import type { Settings } from '../../config/settings.ts';
import { createSealer } from '../../identity/sealing.ts';
import type { PublishInvalidation } from '../../kernel/invalidation.ts';
import type { Sql } from '../../store/pg/connect.ts';
import { createCredentialStore } from '../../store/pg/credentials.ts';
import { createOutbox } from '../../store/pg/outbox.ts';
import { createSecretStore } from '../../store/pg/secrets.ts';
import { createWorkspacePolicyStore } from '../../store/pg/workspace-policies.ts';
import type { RunningInternalApi } from './app.ts';
import { startInternalApi } from './app.ts';

export type InternalSettings = Pick<Settings, 'internalHost' | 'internalPort' | 'internalToken' | 'secretsKey' | 'retentionDays'>;

/** This listener only reads: a change made through its stores would be a defect. */
const publishesNothing: PublishInvalidation = () => Promise.reject(new Error('the internal API changes nothing'));

/** Starts the internal API from the settings; undefined, with a word in the log, when no service token is set. Rejects when its port cannot be bound. */
export async function startInternal(settings: InternalSettings, sql: Sql, logger: Logger): Promise<RunningInternalApi | undefined> {
  if (settings.internalToken === undefined) {
    logger.warn('INTERNAL_TOKEN is not set: no internal API, so no proxy can activate a workspace');
    return undefined;
  }
  const deps = { sql, outbox: createOutbox({ mode: 'refuse', retentionDays: settings.retentionDays }), sealer: createSealer(settings.secretsKey), publish: publishesNothing };
  const internal = await startInternalApi({
    policies: createWorkspacePolicyStore(deps),
    secrets: createSecretStore(deps),
    credentials: createCredentialStore(deps),
    retentionDays: settings.retentionDays,
    serviceToken: settings.internalToken,
    logger,
  }, { host: settings.internalHost, port: settings.internalPort });
  logger.info({ url: internal.url }, 'internal api listens');
  return internal;
}
