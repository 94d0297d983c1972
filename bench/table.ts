import Table from 'cli-table3';

/** Prints rows under a title, numbers right-aligned. */
export function printTable(title: string, head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const table = new Table({ head: [...head], style: { head: [], border: [] }, colAligns: head.map((_, index) => (index === 0 ? 'left' : 'right')) });
  for (const row of rows) table.push(row.map(String));
  console.log(`\n${title}\n${table.toString()}`);
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Time of one call in ms. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/**
 * Times several variants in turn, round after round, so that a change of the machine's speed meets all of them alike; the first round
 * warms up and does not count. Answers each variant's times in ms.
 */
export async function interleaved<K extends string>(rounds: number, variants: Readonly<Record<K, () => Promise<unknown>>>): Promise<Record<K, number[]>> {
  const names = Object.keys(variants) as K[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<K, number[]>;
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of names) {
      const ms = await timed(variants[name]);
      if (round > 0) times[name].push(ms);
    }
  }
  return times;
}
