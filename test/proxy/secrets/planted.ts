import { Secret } from '../../../src/kernel/secret.ts';
import type { BrokerDeps } from '../../../src/credentials/broker.ts';
import { createBroker } from '../../../src/credentials/broker.ts';
import type { ProxyParts } from '../../../src/proxy/start.ts';
import { orgId } from '../proxy-harness.ts';

/** Texts that stand nowhere by chance, each in one place. */
export const planted = {
  /** A secret of the workspace, which a transform sends. */
  workspace: 'wsp-7Yq/Zk+92+recognisable',
  /** The material of a credential, which an auth transform sends. */
  credential: 'crd-4Xw0Bn81recognisable',
  /** The same, of a provider that takes it in the query. */
  queryKey: 'qky 55&Lm=recognisable',
  /** The agent's own Authorization, for its own account upstream. */
  authorization: 'agt-Bearer-63Tf-recognisable',
  query: 'qry-08Vd-recognisable',
  body: 'bdy-29Gh-recognisable',
  /** In malformed bytes, user information and names. */
  wire: 'wir-77Pk-recognisable',
  /** What the upstream says. */
  answer: 'ans-31Rs-recognisable',
} as const;

export type Place = keyof typeof planted;

/** Secrets the agent must never see, whatever the upstream does with them. */
export const hiddenFromAgent: readonly Place[] = ['workspace', 'credential', 'queryKey'];

/** A broker over a vault with `hub` (github), `search` (serpapi) and `broken`, whose material cannot be sent; anything else makes the vault fail. */
export function plantedMint(onError: BrokerDeps['onError'], onStatus: BrokerDeps['onStatus']): ProxyParts['mint'] {
  const common = { id: '0192bbbb-0000-7000-8000-000000000001', orgId, status: 'active' } as const;
  const broker = createBroker({
    vault: {
      async load({ name }) {
        if (name === 'hub') return { ...common, name, provider: 'github', kind: 'api_key', apiKey: new Secret(planted.credential) };
        if (name === 'search') return { ...common, name, provider: 'serpapi', kind: 'query_api_key', apiKey: new Secret(planted.queryKey) };
        if (name === 'broken') return { ...common, name, provider: 'github', kind: 'api_key', apiKey: new Secret(`${planted.credential}\r\nx: y`) };
        throw new Error('the vault cannot be asked');
      },
    },
    clock: Date.now, onError, onStatus, onOutcome: () => undefined,
  });
  return ({ workspace }, credential, provider) => broker.mint({ orgId: workspace.orgId, workspaceId: workspace.id }, credential, provider);
}
