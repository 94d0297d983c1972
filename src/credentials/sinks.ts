import type { AuthProvider } from '../kernel/auth-providers.ts';

/** Where a provider takes its token (contract 2.7, auth variant). Structurally the `Sink` of src/transforms/contract.ts, which this layer may not import. */
export type CredentialSink = { readonly kind: 'header'; readonly name: string } | { readonly kind: 'query'; readonly name: string };

/**
 * How the token is written there: `bearer` is `Bearer TOKEN`, `token` is `Token token=TOKEN`, `plain` the token alone, `basic` is
 * `Basic base64(user:password)`. `keyAsUser` is `basic` for an API key that stands as the user name, with a password nobody reads.
 */
export type SinkFormat = 'bearer' | 'token' | 'plain' | 'basic' | 'keyAsUser';

export type ProviderSink = { readonly sink: CredentialSink; readonly format: SinkFormat };

const authorization: CredentialSink = { kind: 'header', name: 'authorization' };
const bearer: ProviderSink = { sink: authorization, format: 'bearer' };
const basic: ProviderSink = { sink: authorization, format: 'basic' };

function plainHeader(name: string): ProviderSink {
  return { sink: { kind: 'header', name }, format: 'plain' };
}

/** One row per provider, in the order of src/kernel/auth-providers.ts. Header where the provider's API reference names its own, `Bearer` otherwise. */
const providerSinks: Readonly<Record<AuthProvider, ProviderSink>> = {
  google: bearer,
  microsoft: bearer,

  anthropic: plainHeader('x-api-key'),
  airtable: bearer,
  asana: bearer,
  cloudflare: bearer,
  cohere: bearer,
  datadog: plainHeader('dd-api-key'),
  figma: plainHeader('x-figma-token'),
  github: bearer,
  gitlab: bearer,
  groq: bearer,
  huggingface: bearer,
  hubspot: bearer,
  // Personal API keys are refused when a scheme stands before them.
  linear: { sink: authorization, format: 'plain' },
  mistral: bearer,
  notion: bearer,
  openai: bearer,
  openrouter: bearer,
  pagerduty: { sink: authorization, format: 'token' },
  sendgrid: bearer,
  sentry: bearer,
  slack: bearer,
  vercel: bearer,

  atlassian: basic,
  freshdesk: { sink: authorization, format: 'keyAsUser' },
  twilio: basic,
  zendesk: basic,

  serpapi: { sink: { kind: 'query', name: 'api_key' }, format: 'plain' },
};

export function sinkOf(provider: AuthProvider): CredentialSink {
  return providerSinks[provider].sink;
}

export function formatOf(provider: AuthProvider): SinkFormat {
  return providerSinks[provider].format;
}
