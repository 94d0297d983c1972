import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import t from 'tap';
import { SealingError, createSealer, generateSecretsKey } from '../../src/identity/sealing.ts';
import type { SealedFor } from '../../src/identity/sealing.ts';
import { Secret } from '../../src/kernel/secret.ts';

const owner: SealedFor = { kind: 'secret', orgId: '0197a000-0000-7000-8000-00000000000a', name: 'token' };
const [keyA, keyB] = [generateSecretsKey(), generateSecretsKey()];

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof SealingError) return error.code;
    throw error;
  }
  return 'opened';
}

t.test('what is sealed opens again, and looks different each time', async (t) => {
  const sealer = createSealer(keyA);
  for (const value of ['', 'x', 'a secret with ünïcode \u0000 and \u{1F512}', randomBytes(16_384).toString('hex')]) {
    const [one, two] = [sealer.seal(new Secret(value), owner), sealer.seal(new Secret(value), owner)];
    t.not(one.compare(two), 0, 'a nonce of its own');
    t.equal(sealer.open(one, owner).reveal(), value);
    t.equal(sealer.open(new Uint8Array(two), owner).reveal(), value, 'as plain bytes, the way a driver gives them');
    if (value.length > 3) t.notOk(one.includes(value), 'not in the sealed bytes');
  }
});

t.test('it opens for its owner only', async (t) => {
  const sealer = createSealer(keyA);
  const sealed = sealer.seal(new Secret('value'), owner);
  const others: SealedFor[] = [
    { ...owner, orgId: '0197a000-0000-7000-8000-00000000000b' }, { ...owner, name: 'token2' }, { ...owner, kind: 'credential' }, { ...owner, userId: 'user_1' },
    { ...owner, orgId: `${owner.orgId}to`, name: 'ken' },
  ];
  for (const other of others) t.equal(codeOf(() => sealer.open(sealed, other)), 'damaged', JSON.stringify(other));
});

t.test('a change of any byte, or a cut, is seen', async (t) => {
  const sealer = createSealer(keyA);
  const sealed = sealer.seal(new Secret('value'), owner);
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    t.match(codeOf(() => sealer.open(changed, owner)), /^(damaged|unknown_key)$/, `byte ${at}`);
    t.match(codeOf(() => sealer.open(sealed.subarray(0, at), owner)), /^(damaged|unknown_key)$/, `cut at ${at}`);
  }
});

t.test('keys are rotated by putting a new one in front', async (t) => {
  const old = createSealer(keyA).seal(new Secret('value'), owner);
  const rotated = createSealer(`${keyB}, ${keyA}`);
  t.equal(rotated.open(old, owner).reveal(), 'value');
  const fresh = rotated.seal(new Secret('value'), owner);
  t.equal(createSealer(keyB).open(fresh, owner).reveal(), 'value', 'the first key seals');
  t.equal(codeOf(() => createSealer(keyA).open(fresh, owner)), 'unknown_key');
  t.equal(codeOf(() => createSealer(undefined).open(fresh, owner)), 'no_key');
  t.equal(codeOf(() => createSealer(undefined).seal(new Secret('value'), owner)), 'no_key');
  t.throws(() => createSealer('c2hvcnQ='), RangeError);
});

t.test('errors and sealers show neither key nor value', async (t) => {
  const sealer = createSealer(keyA);
  const sealed = sealer.seal(new Secret('plain-value'), owner);
  try {
    sealer.open(sealed, { ...owner, name: 'other' });
    t.fail('it opened');
  } catch (error) {
    const shown = inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error) + inspect(sealer, { depth: 10 });
    t.notMatch(shown, 'plain-value');
    t.notOk(shown.includes(keyA));
  }
});
