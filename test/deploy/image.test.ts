import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(join(root, name), 'utf8');
const dockerfile = read('Dockerfile');
const lines = dockerfile.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

t.test('the image runs the Node that package.json pins', async (t) => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
  t.ok(lines.includes(`ARG NODE_VERSION=${dependencies['node']}`));
  t.same(lines.filter((line) => line.startsWith('FROM ')), ['FROM node:${NODE_VERSION}-slim AS packages', 'FROM node:${NODE_VERSION}-slim']);
});

t.test('production packages only, not as root, nothing secret', async (t) => {
  t.match(dockerfile, 'npm ci --omit=dev --omit=optional');
  const user = lines.findIndex((line) => line === 'USER node');
  t.ok(user > lines.findLastIndex((line) => line.startsWith('FROM ')), 'the last stage changes to an ordinary user');
  t.notMatch(lines.slice(user + 1).join('\n'), /^(RUN|COPY|USER)/m, 'and stays it');
  t.notMatch(dockerfile, /PASSWORD|SECRET|TOKEN|^ARG (?!NODE_VERSION)/m);
  t.equal(lines.at(-1), 'CMD ["node", "src/cli/main.ts", "api"]');
});

t.test('.dockerignore lets in what is copied and no more', async (t) => {
  const ignore = read('.dockerignore').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  t.equal(ignore[0], '*');
  const allowed = ignore.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  const copied = lines.filter((line) => line.startsWith('COPY ') && !line.includes('--from')).flatMap((line) => line.split(' ').slice(1, -1)).map((path) => path.replace('./', ''));
  t.same([...new Set(copied)].sort(), [...allowed].sort());
  for (const path of copied) t.ok(existsSync(join(root, path)), path);
});

t.test('the ClickHouse configuration is well-formed and bounds what grows by itself', async (t) => {
  const xml = read('clickhouse/config/server.xml').replaceAll(/<!--[\s\S]*?-->|<\?[\s\S]*?\?>/g, '');
  const open: string[] = [];
  for (const [, closing, name = '', selfClosing] of xml.matchAll(/<(\/?)([a-z_]+)[^<>]*?(\/?)>/g)) {
    if (closing === '/') t.equal(open.pop(), name, `</${name}> closes what is open`);
    else if (selfClosing !== '/') open.push(name);
  }
  t.same(open, [], 'all closed');
  for (const log of ['trace_log', 'text_log', 'metric_log', 'asynchronous_metric_log', 'query_metric_log', 'query_thread_log', 'processors_profile_log', 'latency_log']) t.match(xml, `<${log} remove="1"/>`, log);
  for (const log of ['query_log', 'part_log', 'error_log']) t.match(xml, new RegExp(`<${log}>\\s*<ttl>event_date \\+ INTERVAL \\d+ DAY DELETE</ttl>`), log);
  t.match(xml, /<max_server_memory_usage_to_ram_ratio>0\.\d+</);
});
