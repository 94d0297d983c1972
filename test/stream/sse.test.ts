import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';
import fc from 'fast-check';
import t from 'tap';
import type { AuditEvent } from '../../src/events/event.ts';
import { streamRow } from '../../src/stream/row.ts';
import { commentFrame, eventFrame, retryFrame } from '../../src/stream/sse.ts';
import { row } from './truth.ts';

function parsed(text: string): { messages: EventSourceMessage[]; comments: string[]; retries: number[] } {
  const messages: EventSourceMessage[] = [];
  const comments: string[] = [];
  const retries: number[] = [];
  const parser = createParser({
    onEvent: (message) => messages.push(message),
    onComment: (comment) => comments.push(comment),
    onRetry: (ms) => retries.push(ms),
    onError: (error) => { throw error; },
  });
  parser.feed(text);
  return { messages, comments, retries };
}

t.test('an event is three lines and a blank one', async (t) => {
  const event = row('o', 1);
  t.equal(eventFrame('audit', streamRow(event)).toString(), `event: audit\nid: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`);
  t.equal(eventFrame('activity', streamRow(event)).toString().split('\n')[0], 'event: activity');
});

t.test('a frame is made once per row and name', async (t) => {
  const shared = streamRow(row('o', 1));
  t.equal(eventFrame('audit', shared), eventFrame('audit', shared));
  t.not(eventFrame('audit', shared), eventFrame('activity', shared));
});

t.test('no content of a row can break the framing', async (t) => {
  const nasty = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\n\nevent: x', '\r\ndata: y', '\r', '\0', '\u2028\u2029', ': comment\n\n', '\ud800'));
  fc.assert(fc.property(nasty, fc.dictionary(nasty, nasty), nasty, (path, detail, id) => {
    const event: AuditEvent = { ...row('o', 1), id: `i${id}`, path, detail: { ...detail } };
    const { messages, comments } = parsed(`${eventFrame('audit', streamRow(event)).toString()}${commentFrame(path).toString()}${eventFrame('activity', streamRow(row('o', 2))).toString()}`);
    t.equal(messages.length, 2);
    t.equal(comments.length, 1);
    t.equal(messages[0]?.event, 'audit');
    t.same(JSON.parse(messages[0]?.data ?? ''), JSON.parse(JSON.stringify(event)));
    t.equal(messages[1]?.event, 'activity');
  }));
});

t.test('comments and the retry hint are one line each', async (t) => {
  t.equal(commentFrame('heartbeat').toString(), ': heartbeat\n\n');
  t.equal(commentFrame('a\r\n\nb').toString(), ': a b\n\n');
  t.same(parsed(retryFrame(1234.9).toString()).retries, [1234]);
});
