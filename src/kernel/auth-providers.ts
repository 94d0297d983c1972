/**
 * The closed enumeration of auth providers (contract 2.7, auth variant): 2 OAuth families, 22 with a static token, 4 with basic
 * authentication, 1 with an API key in the query. The policy engine checks `auth.provider` against it; how a token is sent belongs to
 * the credential side. Adding a provider is one row here.
 */
export const authProviders = {
  google: 'oauth',
  microsoft: 'oauth',

  anthropic: 'static_token',
  airtable: 'static_token',
  asana: 'static_token',
  cloudflare: 'static_token',
  cohere: 'static_token',
  datadog: 'static_token',
  figma: 'static_token',
  github: 'static_token',
  gitlab: 'static_token',
  groq: 'static_token',
  huggingface: 'static_token',
  hubspot: 'static_token',
  linear: 'static_token',
  mistral: 'static_token',
  notion: 'static_token',
  openai: 'static_token',
  openrouter: 'static_token',
  pagerduty: 'static_token',
  sendgrid: 'static_token',
  sentry: 'static_token',
  slack: 'static_token',
  vercel: 'static_token',

  atlassian: 'basic',
  freshdesk: 'basic',
  twilio: 'basic',
  zendesk: 'basic',

  serpapi: 'query_key',
} as const;

export type AuthProvider = keyof typeof authProviders;

export const authProviderSlugs = Object.keys(authProviders) as readonly AuthProvider[];
