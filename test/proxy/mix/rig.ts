import { testAuthority } from '../clients/test-authority.ts';
import { proxyDirectory } from '../proxy-process.ts';
import type { ProxyDirectory } from '../proxy-process.ts';
import type { MixUpstreams } from './upstreams.ts';
import { mixUpstreams } from './upstreams.ts';

/** Upstreams, and a directory for proxies whose policy, with a transform and a counter, admits their `/v1/**`. */
export async function mixRig(t: { teardown(fn: () => Promise<void>): unknown }, { confirms = false } = {}): Promise<{ readonly upstreams: MixUpstreams; readonly proxies: ProxyDirectory }> {
  const authority = await testAuthority(t);
  const upstreams = await mixUpstreams(t, authority);
  const rule = (name: string, port: number, insecure: boolean): string => `    - {name: ${name}, domains: ["api.example.com:${port}"], methods: [GET, POST, HEAD], paths: ["/v1/**"], allow_insecure: ${insecure}}\n`;
  const caps = `- name: demo\n  type: http\n  allow:\n${rule('plain', upstreams.plainPort, true)}${rule('secure', upstreams.securePort, false)}`
    + '  transforms: [{header: {name: x-injected, action: set, value: \'secrets["key"]\'}}]\n'
    + '  budgets: {counters: [{name: calls, source: request.count, workspace: {max: 100000000}}]}\n';
  const proxies = await proxyDirectory(t, { caps, confirms, env: { PROXY_UPSTREAM_CA: authority.caPath, PROXY_UPSTREAM_CONNECTIONS_MAX: '1024' } });
  return { upstreams, proxies };
}
