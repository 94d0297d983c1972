import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a state that the system reaches by itself; the bound is there to fail, not to measure. */
export async function until(what: string, condition: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 1200; tries += 1) {
    if (await condition()) return;
    await sleep(25);
  }
  throw new Error(`never happened: ${what}`);
}
