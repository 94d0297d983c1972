import type { Area } from '../support/area.ts';
import { transformsWith } from '../support/documents.ts';

const auth = (fragment: string) => transformsWith(`auth: ${fragment}`);

/** The closed enumeration: 2 OAuth families, 22 with a static token, 4 with basic authentication, 1 with a key in the query. */
export const providersByKind = {
  oauth: ['google', 'microsoft'],
  static_token: [
    'airtable', 'anthropic', 'asana', 'cloudflare', 'cohere', 'datadog', 'figma', 'github', 'gitlab', 'groq', 'hubspot', 'huggingface', 'linear', 'mistral', 'notion',
    'openai', 'openrouter', 'pagerduty', 'sendgrid', 'sentry', 'slack', 'vercel',
  ],
  basic: ['atlassian', 'freshdesk', 'twilio', 'zendesk'],
  query_key: ['serpapi'],
} as const;

export const authVariant: Area = {
  section: '2.7 Auth variant',
  sentences: [
    {
      quote: 'credential: string, required, name of an org-scoped credential',
      accepted: { 'a name': auth('{credential: demo, provider: github}'), 'a name with blanks': auth('{credential: "Demo account 1", provider: github}') },
      rejected: { 'missing': auth('‹missing_field›{provider: github}'), 'a number': auth('{credential: ‹wrong_type›1, provider: github}'), 'null': auth('{credential: ‹wrong_type›null, provider: github}') },
    },
    {
      quote: 'provider: string, required, slug from a closed enumeration validated against the known auth providers',
      accepted: Object.fromEntries(Object.values(providersByKind).flat().map((provider) => [provider, auth(`{credential: demo, provider: ${provider}}`)])),
      rejected: {
        'missing': auth('‹missing_field›{credential: demo}'),
        'unknown': auth('{credential: demo, provider: ‹unknown_provider›example}'),
        'capitals': auth('{credential: demo, provider: ‹unknown_provider›GitHub}'),
        'empty': auth('{credential: demo, provider: ‹unknown_provider›""}'),
        'a name that every object has': auth('{credential: demo, provider: ‹unknown_provider›constructor}'),
        'a number': auth('{credential: demo, provider: ‹wrong_type›1}'),
      },
    },
    {
      quote: 'The token format is fixed per provider by the proxy; no CEL is involved',
      accepted: { 'no value': auth('{credential: demo, provider: github}') },
      rejected: { 'a value': auth(`{credential: demo, provider: github, ‹unknown_field›value: '"a"'}`), 'a header': auth('{credential: demo, provider: github, ‹unknown_field›header: authorization}') },
    },
    {
      quote: 'The minted token never appears in audit detail',
      oneSided: 'says what the proxy writes; no document can go against it',
      accepted: { 'an auth transform': auth('{credential: demo, provider: github}') },
    },
  ],
};
