import { Writable } from 'node:stream';
import t from 'tap';
import { createLog, throttledErrors } from '../../src/kernel/log.ts';

t.test('log lines name role and error, and not what an error carries along', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  const log = createLog('worker', 'info', destination);
  const error = Object.assign(new Error('outer', { cause: new Error('inner') }), { code: '57P01', parameters: ['row text'] });
  log.error({ err: error }, 'failed');
  log.debug('not at this level');
  t.equal(lines.length, 1);
  t.match(lines[0], { role: 'worker', msg: 'failed', err: { message: 'outer', code: '57P01', cause: { message: 'inner' } } });
  t.notMatch(JSON.stringify(lines), 'row text');

  const report = throttledErrors(log, 'again');
  for (let n = 0; n < 5; n += 1) report(new Error('down'));
  t.equal(lines.length, 2, 'a flood gives one line');
});
