import { createSecureContext } from 'node:tls';
import t from 'tap';
import { createBoundedLeafFor } from '../../src/proxy/bounded-leaf.ts';

const context = createSecureContext();

t.test('ever new names are counted for each client; names in use are free', async (t) => {
  let nowMs = 0;
  const made: string[] = [];
  const leafFor = createBoundedLeafFor({
    leafFor: async (host) => {
      made.push(host);
      if (host === 'broken.example') throw new Error('no certificate');
      return context;
    },
    nowMs: () => nowMs,
    limits: { ratePerSecond: 1, burst: 3, clientsMax: 10, openMax: 10, openPerClientMax: 10 },
  });
  for (const name of ['a', 'b', 'c']) t.equal(await leafFor(`${name}.example`, '10.0.0.1'), context);
  t.equal(await leafFor('d.example', '10.0.0.1'), undefined);
  t.equal(await leafFor('a.example', '10.0.0.1'), context, 'a name that is known');
  t.equal(await leafFor('d.example', '10.0.0.2'), context, 'another client');
  t.equal(await leafFor('d.example', '10.0.0.1'), context, 'now it is known');
  nowMs = 1000;
  t.equal(await leafFor('e.example', '10.0.0.1'), context, 'later');
  t.equal(await leafFor('f.example', '10.0.0.1'), undefined);
  await t.rejects(leafFor('broken.example', '10.0.0.3'), { message: 'no certificate' });
  t.notOk(made.includes('f.example'));
});

t.test('names that were not used for long are new again, and those that wait have a bound', async (t) => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => { release = resolve; });
  const leafFor = createBoundedLeafFor({ leafFor: async (host) => (host.startsWith('slow') ? held.then(() => context) : context), nowMs: () => 0, limits: { ratePerSecond: 1, burst: 1002, clientsMax: 10, openMax: 2, openPerClientMax: 2 } });
  for (let name = 0; name < 1001; name += 1) await leafFor(`n${name}.example`, '10.0.0.1');
  t.equal(await leafFor('n1.example', '10.0.0.1'), context);
  t.equal(await leafFor('n0.example', '10.0.0.1'), context, 'the last of what it may ask for');
  t.equal(await leafFor('new.example', '10.0.0.1'), undefined);
  const waiting = [leafFor('slow1.example', '10.0.0.2'), leafFor('slow2.example', '10.0.0.2')];
  t.equal(await leafFor('slow3.example', '10.0.0.3'), undefined);
  release();
  t.strictSame(await Promise.all(waiting), [context, context]);
  t.equal(await leafFor('slow3.example', '10.0.0.3'), context);
});
