import { inspect } from 'node:util';
import t from 'tap';
import type { BrokerDeps, BrokerLimits, MintOutcome } from '../../src/credentials/broker.ts';
import { brokerLimits, createBroker } from '../../src/credentials/broker.ts';
import { MintedCredential } from '../../src/credentials/minted-credential.ts';
import type { StatusChange } from '../../src/credentials/status-reports.ts';
import type { CredentialOwner, CredentialVault, StoredCredential } from '../../src/credentials/vault.ts';
import { Secret } from '../../src/kernel/secret.ts';

const owner: CredentialOwner = { orgId: 'o1', workspaceId: 'w1' };
const planted = 'planted-token-12345';

function credential(changes: Record<string, unknown> = {}): StoredCredential {
  return { id: 'c1', orgId: 'o1', name: 'hub', provider: 'github', status: 'active', kind: 'api_key', apiKey: new Secret(planted), ...changes };
}

type Harness = Omit<BrokerDeps, 'vault' | 'limits'> & { readonly vault: CredentialVault['load']; readonly limits: Partial<BrokerLimits> };

function harness({ vault, limits, ...rest }: Partial<Harness> = {}) {
  const state: { nowMs: number; loads: number; stored: StoredCredential | undefined } = { nowMs: 1_000_000, loads: 0, stored: credential() };
  const outcomes: MintOutcome[] = [];
  const changes: StatusChange[] = [];
  const errors: unknown[] = [];
  const broker = createBroker({
    vault: {
      async load(wanted, signal) {
        state.loads += 1;
        return vault === undefined ? state.stored : vault(wanted, signal);
      },
    },
    clock: () => state.nowMs,
    onStatus: (change) => changes.push(change),
    onOutcome: (outcome) => outcomes.push(outcome),
    onError: (error) => errors.push(error),
    limits: { ...brokerLimits, ...limits },
    ...rest,
  });
  return { broker, state, outcomes, changes, errors };
}

/** A load that ends when told. */
function gate() {
  const waiting: ((stored: StoredCredential | undefined) => void)[] = [];
  return { load: () => new Promise<StoredCredential | undefined>((resolve) => waiting.push(resolve)), waiting };
}

t.test('one load for all that ask at once and after, until the time is over', async (t) => {
  const { broker, state, outcomes } = harness();
  const all = await Promise.all(Array.from({ length: 20 }, () => broker.mint(owner, 'hub', 'github')));
  t.ok(all.every((minted) => minted?.value === `Bearer ${planted}`));
  state.nowMs += brokerLimits.ttlMs - 1;
  await broker.mint(owner, 'hub', 'github');
  t.equal(state.loads, 1);
  state.nowMs += 1;
  state.stored = credential({ apiKey: new Secret('rotated-token') });
  t.equal((await broker.mint(owner, 'hub', 'github'))?.value, 'Bearer rotated-token');
  t.strictSame([state.loads, outcomes.slice(-2)], [2, ['cached', 'minted']]);
});

t.test('nothing is shared between orgs, workspaces and names', async (t) => {
  const { broker, state } = harness({ vault: async ({ orgId, workspaceId, name }) => credential({ orgId, name, apiKey: new Secret(`${orgId}-${workspaceId}-${name}`) }) });
  const values = [];
  for (const [orgId, workspaceId, name] of [['o1', 'w1', 'a'], ['o1', 'w2', 'a'], ['o2', 'w1', 'a'], ['o1', 'w1', 'b'], ['o1', '', 'w1a']] as const) {
    values.push((await broker.mint({ orgId, workspaceId }, name, 'github'))?.value);
  }
  t.strictSame(values, ['Bearer o1-w1-a', 'Bearer o1-w2-a', 'Bearer o2-w1-a', 'Bearer o1-w1-b', 'Bearer o1--w1a']);
  t.equal(broker.size, 5);
  const mixedUp = harness({ vault: async () => credential({ orgId: 'o2' }) });
  t.equal(await mixedUp.broker.mint(owner, 'hub', 'github'), undefined, 'a vault that answers with the credential of another org');
  t.strictSame([mixedUp.outcomes, state.loads], [['not_found'], 5]);
});

t.test('failures are asked for again only after a while', async (t) => {
  const { broker, state, outcomes } = harness();
  state.stored = undefined;
  for (let index = 0; index < 3; index += 1) t.equal(await broker.mint(owner, 'hub', 'github'), undefined);
  t.equal(state.loads, 1);
  state.stored = credential();
  state.nowMs += brokerLimits.negativeTtlMs;
  t.ok(await broker.mint(owner, 'hub', 'github'));
  t.strictSame([state.loads, outcomes], [2, ['not_found', 'not_found', 'not_found', 'minted']]);
});

t.test('another provider than the credential is for: nothing minted, its status untouched', async (t) => {
  const { broker, state, outcomes, changes } = harness();
  t.equal(await broker.mint(owner, 'hub', 'gitlab'), undefined);
  t.ok(await broker.mint(owner, 'hub', 'github'));
  t.strictSame([state.loads, outcomes, changes], [1, ['provider_mismatch', 'cached'], []]);
});

t.test('a vault that rejects, and one that never answers', async (t) => {
  const broken = harness({ vault: async () => Promise.reject(new Error('no route')) });
  t.equal(await broken.broker.mint(owner, 'hub', 'github'), undefined);
  t.strictSame([broken.outcomes, broken.errors.length, broken.changes], [['vault_failed'], 1, []]);
  const throwing = harness({ vault: () => { throw new Error('at once'); } });
  t.equal(await throwing.broker.mint(owner, 'hub', 'github'), undefined);
  let told = false;
  const silent = harness({ limits: { timeoutMs: 5 }, vault: (_wanted, signal) => new Promise(() => signal.addEventListener('abort', () => (told = true))) });
  t.equal(await silent.broker.mint(owner, 'hub', 'github'), undefined);
  t.strictSame([silent.outcomes, silent.errors, told], [['timed_out'], [], true]);
});

t.test('an answer that comes after its time changes nothing', async (t) => {
  const { load, waiting } = gate();
  const { broker, changes, outcomes } = harness({ limits: { timeoutMs: 5 }, vault: load });
  t.equal(await broker.mint(owner, 'hub', 'github'), undefined);
  waiting[0]?.(credential({ status: 'failed' }));
  await new Promise((resolve) => setImmediate(resolve));
  t.strictSame([changes, outcomes], [[], ['timed_out']]);
  t.equal(await broker.mint(owner, 'hub', 'github'), undefined);
});

t.test('loads under way are bounded', async (t) => {
  const { load, waiting } = gate();
  const { broker, outcomes, state } = harness({ limits: { mintsMax: 2 }, vault: load });
  const asked = ['a', 'b', 'a', 'c'].map((name) => broker.mint(owner, name, 'github'));
  t.equal(await asked[3], undefined);
  t.strictSame([outcomes, state.loads], [['overloaded'], 2]);
  for (const done of waiting) done(credential());
  t.ok((await Promise.all(asked.slice(0, 3))).every((minted) => minted !== undefined));
  const again = broker.mint(owner, 'c', 'github');
  waiting[2]?.(credential());
  t.ok(await again, 'not remembered');
});

t.test('entries are bounded, the ones used last stay', async (t) => {
  const { broker, state } = harness({ limits: { entriesMax: 3 } });
  for (const name of ['a', 'b', 'c', 'a', 'd', 'a']) await broker.mint(owner, name, 'github');
  t.strictSame([broker.size, state.loads], [3, 4]);
  await broker.mint(owner, 'b', 'github');
  t.equal(state.loads, 5);
});

t.test('invalidation: one name, a whole org, what is under way', async (t) => {
  const { broker, state } = harness({ vault: async ({ orgId, name }) => credential({ orgId, name }) });
  const all = async (): Promise<number> => {
    const before = state.loads;
    for (const orgId of ['o1', 'o2']) for (const name of ['a', 'b']) await broker.mint({ orgId, workspaceId: 'w1' }, name, 'github');
    return state.loads - before;
  };
  t.equal(await all(), 4);
  broker.invalidate('o1', 'a');
  t.equal(await all(), 1);
  broker.invalidate('o1');
  t.equal(await all(), 2);
  t.equal(await all(), 0);

  const { load, waiting } = gate();
  const slow = harness({ vault: load });
  const before = slow.broker.mint(owner, 'hub', 'github');
  slow.broker.invalidate('o1', 'hub');
  const after = slow.broker.mint(owner, 'hub', 'github');
  waiting[0]?.(credential());
  waiting[1]?.(undefined);
  await before;
  t.equal(await after, undefined, 'deleted meanwhile');
  t.equal(await slow.broker.mint(owner, 'hub', 'github'), undefined);
});

t.test('tokens that expire are not used to their last moment', async (t) => {
  let mints = 0;
  const { broker, state } = harness({
    kinds: { oauth2_client_credentials: async () => ({ ok: true, minted: new MintedCredential(`Bearer ${(mints += 1)}`, []), expiresAtMs: 1_040_000 }) },
    vault: async () => credential({ kind: 'oauth2_client_credentials', provider: 'google' }),
  });
  const value = async (): Promise<string | undefined> => (await broker.mint(owner, 'g', 'google'))?.value;
  t.equal(await value(), 'Bearer 1');
  state.nowMs = 1_009_999;
  t.equal(await value(), 'Bearer 1');
  state.nowMs = 1_010_000;
  t.equal(await value(), 'Bearer 2');
});

t.test('changes of status: each reported once', async (t) => {
  const { broker, state, changes } = harness({ limits: { ttlMs: 1, negativeTtlMs: 1 } });
  const mint = async (stored: StoredCredential): Promise<void> => {
    state.stored = stored;
    state.nowMs += 10;
    await broker.mint(owner, 'hub', stored.provider);
  };
  await mint(credential());
  t.strictSame(changes, []);
  const bad = new Secret('not a token');
  await mint(credential({ apiKey: bad }));
  await mint(credential({ apiKey: bad }));
  t.strictSame(changes, [{ owner, id: 'c1', name: 'hub', provider: 'github', kind: 'api_key', fromStatus: 'active', toStatus: 'failed', reason: 'invalid_value', terminal: true }]);
  await mint(credential({ apiKey: bad, status: 'failed' }));
  t.equal(changes.length, 1);
  await mint(credential({ status: 'failed' }));
  await mint(credential({ status: 'failed' }));
  await mint(credential({ status: 'active' }));
  t.strictSame(changes.slice(1).map(({ fromStatus, toStatus, reason, terminal }) => [fromStatus, toStatus, reason, terminal]), [['failed', 'active', 'minted', false]]);
  await mint(credential({ apiKey: bad }));
  t.equal(changes.length, 3, 'it failed anew');
});

t.test('statuses that only an authorization leads out of; kinds that nothing mints', async (t) => {
  for (const status of ['revoked', 'needs_reauth']) {
    const { broker, changes, outcomes } = harness({ vault: async () => credential({ status }) });
    t.equal(await broker.mint(owner, 'hub', 'github'), undefined);
    t.strictSame([changes, outcomes], [[], ['unusable_status']]);
  }
  const { broker, changes, outcomes } = harness({ vault: async () => credential({ kind: 'oauth2_jwt_bearer', provider: 'google' }) });
  t.equal(await broker.mint(owner, 'hub', 'google'), undefined);
  t.strictSame([changes, outcomes], [[], ['kind_unavailable']]);
});

t.test('a kind that rejects', async (t) => {
  const { broker, errors, outcomes } = harness({ kinds: { api_key: async () => Promise.reject(new Error('broken')) } });
  t.equal(await broker.mint(owner, 'hub', 'github'), undefined);
  t.strictSame([errors.length, outcomes], [1, ['vault_failed']]);
});

t.test('what is minted cannot be printed', async (t) => {
  const { broker } = harness();
  const minted = await broker.mint(owner, 'hub', 'github');
  t.strictSame([minted?.value, minted?.secrets], [`Bearer ${planted}`, [planted]]);
  const printed = [JSON.stringify({ minted }), String(minted), inspect(minted, { showHidden: true, depth: 9 }), inspect(broker, { showHidden: true, depth: 9 })].join();
  t.notOk(printed.includes(planted));
});
