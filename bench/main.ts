// `npm run bench -- ingest|query|stream|policy|proxy`: tables with ratios measured in the same run; what needs a stack starts its own and stops it.
const benches: Readonly<Record<string, () => Promise<{ run: () => Promise<void> }>>> = {
  ingest: () => import('./ingest.ts'),
  query: () => import('./query.ts'),
  stream: () => import('./stream.ts'),
  policy: () => import('./policy.ts'),
  proxy: () => import('./proxy.ts'),
};

const name = process.argv[2] ?? '';
const load = benches[name];
if (load === undefined) {
  console.error(`usage: npm run bench -- ${Object.keys(benches).join('|')}`);
  process.exitCode = 2;
} else {
  await (await load()).run();
}
