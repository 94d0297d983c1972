import t from 'tap';
import { askingReadable, isReadableAnswer } from '../../src/proxy/scrub/readable-answer.ts';

t.test('asks for a whole and uncompressed answer, and for nothing else', async (t) => {
  t.strictSame(
    askingReadable([['Accept', '*/*'], ['Accept-Encoding', 'gzip'], ['RANGE', 'bytes=0-3'], ['If-Range', '"x"'], ['accept-encoding', 'br'], ['x-range', '1']]),
    [['Accept', '*/*'], ['x-range', '1'], ['accept-encoding', 'identity']],
  );
});

t.test('answers that cannot be searched', async (t) => {
  for (const [name, value] of [['Content-Encoding', 'gzip'], ['content-encoding', 'identity, br'], ['content-encoding', 'unheard-of'], ['transfer-encoding', 'gzip, chunked'], ['Content-Range', 'bytes 0-3/9']] as const) {
    t.notOk(isReadableAnswer([['content-type', 'text/plain'], [name, value]]), `${name}: ${value}`);
  }
  for (const [name, value] of [['content-encoding', 'Identity'], ['content-encoding', ''], ['transfer-encoding', 'chunked'], ['content-length', '3']] as const) {
    t.ok(isReadableAnswer([['content-type', 'text/plain'], [name, value]]), `${name}: ${value}`);
  }
  t.ok(isReadableAnswer([]));
});
