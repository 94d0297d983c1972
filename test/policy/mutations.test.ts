import { readdirSync } from 'node:fs';
import t from 'tap';
import { checkExample } from './mutations/check-example.ts';

for (const file of readdirSync(new URL('../../examples/caps/', import.meta.url)).filter((name) => name.endsWith('.yaml') && !name.endsWith('.cases.yaml'))) {
  t.test(`each element of ${file}, removed or broken`, async (t) => { checkExample(t, file); });
}
