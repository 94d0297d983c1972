import { createHub } from '../../src/stream/hub.ts';
import type { Hub, HubDeps, SubscribeOptions, Subscription } from '../../src/stream/hub.ts';
import { createStreamPublisher } from '../../src/stream/publisher.ts';
import type { StreamPublisher } from '../../src/stream/publisher.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { Client, Truth } from './truth.ts';

export const all = (): boolean => true;

export interface Rig {
  readonly stack: Stack;
  readonly publisher: StreamPublisher;
  /** Another worker's. */
  anotherPublisher(): StreamPublisher;
  readonly errors: unknown[];
  /** A truth of its own and a hub on it, stopped with the test. It does not sweep unless asked to: the sweep would hide what is missed. */
  hub(options?: Partial<HubDeps>): { truth: Truth; hub: Hub };
  /** A further hub on the same truth: another api process, or the same one restarted. */
  hubOn(truth: Truth, options?: Partial<HubDeps>): Hub;
}

/** A real Redis, a publisher and as many hubs as a test wants. Errors the parts report are kept, not printed. */
export async function startRig(t: { teardown(fn: () => Promise<void>): unknown }): Promise<Rig> {
  const stack = await startStack(undefined, { redis: true });
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const publishers: StreamPublisher[] = [];
  const anotherPublisher = (): StreamPublisher => {
    const publisher = createStreamPublisher({ redisUrl: stack.redisUrl, onError });
    publishers.push(publisher);
    return publisher;
  };
  const publisher = anotherPublisher();
  const hubs: Hub[] = [];
  t.teardown(async () => {
    await Promise.all(hubs.map((hub) => hub.stop()));
    await Promise.all(publishers.map((one) => one.close()));
    await stack.stop();
  });
  const hubOn = (truth: Truth, options: Partial<HubDeps> = {}): Hub => {
    const hub = createHub({ ...truth.log, redisUrl: stack.redisUrl, onError, sweepMs: 3_600_000, ...options });
    hubs.push(hub);
    return hub;
  };
  return {
    stack,
    publisher,
    anotherPublisher,
    errors,
    hubOn,
    hub(options) {
      const truth = new Truth();
      return { truth, hub: hubOn(truth, options) };
    },
  };
}

export async function connect(hub: Hub, options: Omit<SubscribeOptions, 'matches'> & Partial<SubscribeOptions>, client = new Client()): Promise<{ client: Client; subscription: Subscription }> {
  const subscription = await hub.subscribe({ matches: all, ...options });
  subscription.start(client);
  return { client, subscription };
}
