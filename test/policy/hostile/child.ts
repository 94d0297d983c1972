// Runs the cases of one group in this process, which its parent has given little memory, and prints a line for each.
import { performance } from 'node:perf_hooks';
import { readPolicyText, readPolicyValue } from '../../../src/policy/read-policy.ts';
import type { HostileResult } from './case.ts';
import { groups } from './groups.ts';

const name = process.argv[2] as keyof typeof groups;
// The first document pays for loading and warming up; that is not what is measured.
readPolicyText('- name: demo\n  type: http\n  allow: [{domains: [a.example.com], methods: [POST], request_format: application/json, request_schema: {pattern: "^a"}, match: {expr: request.method == "a"}}]\n');

for (const given of groups[name]) {
  const text = given.text?.();
  const value = given.value?.();
  const before = performance.now();
  const { policy, problems } = text === undefined ? readPolicyValue(value) : readPolicyText(text);
  const ms = performance.now() - before;
  const result: HostileResult = {
    name: given.name,
    slugs: policy === undefined ? [...new Set(problems.map(({ slug }) => slug))] : ['valid'],
    problems: problems.length,
    positioned: text === undefined || problems.every(({ slug, line, column }) => slug === 'too_many_problems' || (line !== undefined && column !== undefined)),
    ms,
    memoryMiB: process.memoryUsage().rss / 2 ** 20,
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
if (({} as Record<string, unknown>)['polluted'] !== undefined) throw new Error('the prototype of all objects was changed');
