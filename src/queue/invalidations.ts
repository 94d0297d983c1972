import { isUuid } from '../kernel/ids.ts';
import type { Invalidation, PublishInvalidation } from '../kernel/invalidation.ts';
import { parseJson } from '../kernel/json.ts';
import { connectForCalls, connectForMessages } from './redis-connection.ts';

const channel = 'customhouse:invalidations';
const publishMsMax = 2_000;
const pingMsDefault = 5_000;
const messageCharactersMax = 2_048;

export type InvalidationPublisher = { readonly publish: PublishInvalidation; readonly close: () => Promise<void> };

/** Connects on first use. A message that cannot be sent is told to `onError` and lost; see kernel/invalidation.ts. */
export function createInvalidationPublisher({ redisUrl, onError }: { readonly redisUrl: string; readonly onError: (error: unknown) => void }): InvalidationPublisher {
  let connection: ReturnType<typeof connectForCalls> | undefined;
  return {
    async publish(message) {
      connection ??= connectForCalls(redisUrl, onError, publishMsMax);
      try {
        await connection.publish(channel, JSON.stringify(message));
      } catch (error) {
        onError(error);
      }
    },
    async close() {
      connection?.disconnect();
    },
  };
}

/** Undefined for what is not one of our messages: another version's, or nobody's. */
export function readInvalidation(text: string): Invalidation | undefined {
  if (text.length > messageCharactersMax) return undefined;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { kind, orgId, workspaceId, agentRoleId, name } = value as Record<string, unknown>;
  const isId = (id: unknown): id is string => typeof id === 'string' && isUuid(id);
  if (!isId(orgId)) return undefined;
  switch (kind) {
    case 'workspace_gone':
    case 'workspace_changed':
      return isId(workspaceId) ? { kind, orgId, workspaceId } : undefined;
    case 'agent_role_changed':
      return isId(agentRoleId) ? { kind, orgId, agentRoleId } : undefined;
    case 'secrets_changed':
      return { kind, orgId };
    case 'credential_changed':
      return typeof name === 'string' ? { kind, orgId, name } : undefined;
    default:
      return undefined;
  }
}

export type InvalidationSubscriber = {
  /** Whether messages are being heard at the moment. */
  readonly isHearing: () => boolean;
  readonly close: () => Promise<void>;
};

export type InvalidationSubscriberOptions = {
  readonly redisUrl: string;
  readonly onInvalidation: (message: Invalidation) => void;
  /** The subscription stands, for the first time or again: what was sent before may have been missed, what is sent from now on is heard. */
  readonly onSubscribed: () => void;
  readonly onError: (error: unknown) => void;
  /** A connection is asked this often whether it is still there, and has as long to answer. */
  readonly pingMs?: number;
};

/** Hears invalidations for ever, whatever becomes of Redis meanwhile. */
export function subscribeInvalidations({ redisUrl, onInvalidation, onSubscribed, onError, pingMs = pingMsDefault }: InvalidationSubscriberOptions): InvalidationSubscriber {
  const redis = connectForMessages(redisUrl, onError, pingMs);
  let hearing = false;
  redis.on('close', () => (hearing = false));
  redis.on('ready', () => {
    redis.subscribe(channel).then(() => {
      hearing = true;
      onSubscribed();
    }).catch((error: unknown) => {
      onError(error);
      redis.disconnect(true);
    });
  });
  redis.on('message', (_channel: string, text: string) => {
    const message = readInvalidation(text);
    if (message === undefined) onError(new Error('an invalidation that cannot be read'));
    else onInvalidation(message);
  });
  const pinging = setInterval(() => {
    if (!hearing) return;
    redis.ping().catch((error: unknown) => {
      onError(error);
      hearing = false;
      redis.disconnect(true);
    });
  }, pingMs);
  pinging.unref();
  return {
    isHearing: () => hearing,
    async close() {
      clearInterval(pinging);
      redis.disconnect();
    },
  };
}
