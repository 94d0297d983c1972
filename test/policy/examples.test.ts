import { readFileSync, readdirSync } from 'node:fs';
import t from 'tap';
import { parse } from 'yaml';
import type { PolicyBody, PolicyRequest } from '../../src/policy/compiled-policy.ts';
import { readPolicyText } from '../../src/policy/read-policy.ts';

type Case = {
  readonly name: string;
  readonly request: { readonly method: string; readonly url: string; readonly headers?: Record<string, string>; readonly body?: string; readonly json?: unknown; readonly workspace?: Record<string, string> };
  readonly expect: { readonly decision: 'allow' | 'deny'; readonly reason?: string; readonly capability?: string; readonly rule?: string };
};

const folder = new URL('../../examples/caps/', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, folder), 'utf8');
const files = readdirSync(folder).sort();
const examples = files.filter((file) => file.endsWith('.yaml') && !file.endsWith('.cases.yaml'));

t.test('at least seven policies, each with cases and listed in the README', async (t) => {
  t.ok(examples.length >= 7);
  const readme = read('README.md');
  for (const file of examples) {
    t.ok(files.includes(file.replace('.yaml', '.cases.yaml')), `${file} has cases`);
    t.ok(readme.includes(`(${file})`), `${file} is in the README`);
  }
  t.equal(files.length, 2 * examples.length + 1, 'and nothing else is there');
});

for (const file of examples) {
  t.test(file, async (t) => {
    const text = read(file);
    const { policy, problems, warnings } = readPolicyText(text);
    t.same(problems, [], 'no problems');
    if (policy === undefined) return;

    // A comment right above says why a warning is left standing: within the two lines before it.
    const lines = text.split('\n');
    const commented = lines.flatMap((line, index) => { const slug = /# Warning ([a-z0-9_]+)/.exec(line)?.[1]; return slug === undefined ? [] : [{ slug, line: index + 1 }]; });
    t.equal(warnings.length, commented.length, 'as many warnings as comments on warnings', { warnings });
    for (const { slug, line } of commented) t.ok(warnings.some((warning) => warning.slug === slug && warning.line !== undefined && warning.line > line && warning.line <= line + 2), `line ${line}: ${slug}`, { warnings });

    const cases = parse(read(file.replace('.yaml', '.cases.yaml'))) as Case[];
    const reached = new Set<string>();
    for (const { name, request, expect } of cases) {
      const { canonical, body } = requestOf(request);
      const admission = policy.admit(canonical);
      const decision = admission.kind === 'body_needed' ? policy.decideBody(admission, canonical, body) : admission;
      const got = decision.kind === 'allowed' ? { decision: 'allow', capability: decision.rule.capability, rule: decision.rule.id } : { decision: 'deny', reason: decision.reason };
      t.match(got, expect, name, { failures: decision.failures.map(({ rule, check, violations }) => [rule.id, check, violations]) });
      if (decision.kind === 'allowed') reached.add(`${decision.rule.capability} ${decision.rule.id}`);
    }
    t.ok(cases.some(({ expect }) => expect.decision === 'deny'), 'something is denied');
    const discovery = policy.rules.filter((rule) => !reached.has(`${rule.capability} ${rule.id}`)).map((rule) => rule.id);
    t.same(discovery, [], 'every rule is reached by a case');
  });
}

function requestOf({ method, url, headers = {}, body, json, workspace = {} }: Case['request']): { readonly canonical: PolicyRequest; readonly body: PolicyBody } {
  const found = /^(https?):\/\/(\[[^\]]+\]|[^:/?]+)(?::([0-9]+))?([^?]*)(?:\?(.*))?$/.exec(url);
  if (found === null) throw new Error(`not an address: ${url}`);
  const [, scheme, host = '', port, path = '', rawQuery = ''] = found;
  const text = json === undefined ? (body ?? '') : JSON.stringify(json);
  return {
    canonical: {
      method,
      scheme: scheme === 'https' ? 'https' : 'http',
      host: new URL(`http://${host}/`).hostname.replace(/^\[|\]$/g, ''),
      port: port === undefined ? (scheme === 'https' ? 443 : 80) : Number(port),
      path: path === '' ? '/' : path,
      rawQuery,
      headers: new Map(Object.entries(headers)),
      hasBody: text !== '',
      workspace: { id: 'w-1', orgId: 'o-1', role: workspace['role'] ?? 'buyer', environment: workspace['environment'] ?? 'staging' },
      task: { id: 't-1' },
    },
    body: { contentType: headers['content-type'], text },
  };
}
