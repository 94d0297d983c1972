import fc from 'fast-check';
import t from 'tap';
import { isUuid, platformOrgId, uuidv7, uuidv7Millis } from '../../src/kernel/ids.ts';

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Ids ascend process-wide, so every test takes a time later than those before it. */
let clockMs = 1_800_000_000_000;

t.test('an id has version 7, the RFC variant and lower case', async (t) => {
  for (let n = 0; n < 1000; n += 1) t.match(uuidv7(), shape);
});

t.test('ids ascend as text, also within a millisecond and when the clock goes back', async (t) => {
  clockMs += 10_000;
  fc.assert(fc.property(fc.array(fc.integer({ min: -5000, max: 5000 }), { minLength: 2, maxLength: 200 }), (steps) => {
    let before = uuidv7(clockMs);
    for (const step of steps) {
      const next = uuidv7(clockMs + step);
      if (!(next > before)) throw new Error(`${next} does not follow ${before}`);
      before = next;
    }
  }));
  t.pass('1 to 200 ids with the clock wandering by five seconds');
});

t.test('more ids than the counter holds within one millisecond borrow from the next', async (t) => {
  clockMs += 100_000;
  const ids = Array.from({ length: 10_000 }, () => uuidv7(clockMs));
  t.same([...ids].sort(), ids, 'ascending');
  t.equal(new Set(ids).size, ids.length, 'all different');
  t.equal(uuidv7Millis(ids[0] ?? ''), clockMs, 'the first carries the time it was made');
  t.equal(uuidv7Millis(ids.at(-1) ?? ''), clockMs + 2, '4,096 ids each for the first two milliseconds, the rest in the third');
});

t.test('two ids of the same millisecond and counter differ by their random part', async (t) => {
  const tails = Array.from({ length: 5000 }, () => uuidv7().slice(19));
  t.equal(new Set(tails).size, tails.length);
});

t.test('uuidv7Millis reads back the millisecond', async (t) => {
  clockMs += 100_000;
  fc.assert(fc.property(fc.integer({ min: 1, max: 1_000_000 }), (step) => {
    clockMs += step;
    return uuidv7Millis(uuidv7(clockMs)) === clockMs;
  }));
  t.equal(uuidv7Millis('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'), 1_645_557_742_000, 'the example of RFC 9562');
  t.equal(uuidv7Millis('c232ab00-9414-4ec8-a1b2-e33d3b1f9f00'), undefined, 'version 4 holds no time');
  t.equal(uuidv7Millis(platformOrgId), undefined, 'nor does the nil UUID');
  t.equal(uuidv7Millis('not an id'), undefined);
});

t.test('isUuid takes lower-case UUIDs and the platform org, nothing else', async (t) => {
  for (const good of [uuidv7(), 'c232ab00-9414-4ec8-a1b2-e33d3b1f9f00', platformOrgId]) t.ok(isUuid(good), good);
  const bad = ['', 'C232AB00-9414-4EC8-A1B2-E33D3B1F9F00', 'c232ab0094144ec8a1b2e33d3b1f9f00', '{c232ab00-9414-4ec8-a1b2-e33d3b1f9f00}',
    'c232ab00-9414-0ec8-a1b2-e33d3b1f9f00', 'c232ab00-9414-4ec8-c1b2-e33d3b1f9f00', 'c232ab00-9414-4ec8-a1b2-e33d3b1f9f0', 'c232ab00-9414-4ec8-a1b2-e33d3b1f9f00\n',
    ' c232ab00-9414-4ec8-a1b2-e33d3b1f9f00', "c232ab00-9414-4ec8-a1b2-e33d3b1f9f0'"];
  for (const text of bad) t.notOk(isUuid(text), JSON.stringify(text));
});
