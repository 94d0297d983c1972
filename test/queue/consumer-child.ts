// Takes batches, says so, and never finishes one.
import { writeSync } from 'node:fs';
import { createBatchConsumer } from '../../src/queue/batch-consumer.ts';

createBatchConsumer({
  redisUrl: process.argv[2] ?? '',
  concurrency: 4,
  retryMsMax: 500,
  handle: ({ id }) => {
    writeSync(1, `${id}\n`);
    return new Promise(() => undefined);
  },
  onError: (error) => { console.error(error); },
});
