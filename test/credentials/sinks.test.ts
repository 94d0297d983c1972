import t from 'tap';
import { formatOf, sinkOf } from '../../src/credentials/sinks.ts';
import { staticKinds } from '../../src/credentials/static-kinds.ts';
import type { StoredCredential } from '../../src/credentials/vault.ts';
import type { AuthProvider } from '../../src/kernel/auth-providers.ts';
import { authProviders, authProviderSlugs } from '../../src/kernel/auth-providers.ts';
import { Secret } from '../../src/kernel/secret.ts';

type Sent = { readonly sink: string; readonly value: string; readonly secrets: readonly string[] } | string;

async function sent(provider: AuthProvider, secret: Record<string, unknown>): Promise<Sent> {
  const stored = { id: 'c1', orgId: 'o1', name: 'one', provider, status: 'active', ...secret } as StoredCredential;
  const outcome = await staticKinds[stored.kind]?.(stored, new AbortController().signal);
  if (outcome === undefined) return 'no kind';
  if (!outcome.ok) return `${outcome.status} ${outcome.reason} ${outcome.terminal ? 'terminal' : ''}`;
  const { kind, name } = sinkOf(provider);
  return { sink: `${kind} ${name}`, value: outcome.minted.value, secrets: outcome.minted.secrets };
}

const key = (apiKey: string, kind = 'api_key'): Record<string, unknown> => ({ kind, apiKey: new Secret(apiKey) });
const basic = (username: string, password: string): Record<string, unknown> => ({ kind: 'basic_auth', username, password: new Secret(password) });

t.test('every provider has a sink, in the form of its group', async (t) => {
  for (const provider of authProviderSlugs) {
    const { kind, name } = sinkOf(provider);
    t.match(name, kind === 'header' ? /^[a-z]+(-[a-z]+)*$/ : /^[a-z_]+$/, provider);
    t.equal(kind, authProviders[provider] === 'query_key' ? 'query' : 'header', provider);
    t.equal(['basic', 'keyAsUser'].includes(formatOf(provider)), authProviders[provider] === 'basic', provider);
  }
});

t.test('every provider that is not OAuth can be given a credential of its static kind', async (t) => {
  const kindOf = { static_token: key('abcdefgh'), basic: basic('ann', 'abcdefgh'), query_key: key('abcdefgh', 'query_api_key') };
  for (const provider of authProviderSlugs) {
    const group = authProviders[provider];
    if (group !== 'oauth') t.type(await sent(provider, kindOf[group]), 'object', provider);
  }
});

t.test('how tokens are written', async (t) => {
  t.strictSame(await sent('github', key('tok-12345')), { sink: 'header authorization', value: 'Bearer tok-12345', secrets: ['tok-12345'] });
  t.strictSame(await sent('anthropic', key('tok-12345')), { sink: 'header x-api-key', value: 'tok-12345', secrets: ['tok-12345'] });
  t.strictSame(await sent('datadog', key('tok-12345')), { sink: 'header dd-api-key', value: 'tok-12345', secrets: ['tok-12345'] });
  t.strictSame(await sent('figma', key('tok-12345')), { sink: 'header x-figma-token', value: 'tok-12345', secrets: ['tok-12345'] });
  t.strictSame(await sent('linear', key('tok-12345')), { sink: 'header authorization', value: 'tok-12345', secrets: ['tok-12345'] });
  t.strictSame(await sent('pagerduty', key('tok-12345')), { sink: 'header authorization', value: 'Token token=tok-12345', secrets: ['tok-12345'] });
  t.strictSame(await sent('serpapi', key('a/b c+d=e', 'query_api_key')), { sink: 'query api_key', value: 'a/b c+d=e', secrets: ['a/b c+d=e', 'a%2Fb%20c%2Bd%3De'] });
});

t.test('basic: user and password, or the key as the user', async (t) => {
  const pair = Buffer.from('ann@example.com/token:päss wörd').toString('base64');
  t.strictSame(await sent('zendesk', basic('ann@example.com/token', 'päss wörd')), { sink: 'header authorization', value: `Basic ${pair}`, secrets: [pair, 'päss wörd'] });
  const withKey = Buffer.from('key-12345:X').toString('base64');
  t.strictSame(await sent('freshdesk', key('key-12345')), { sink: 'header authorization', value: `Basic ${withKey}`, secrets: [withKey, 'X', 'key-12345'] });
  t.strictSame(await sent('freshdesk', basic('key-12345', 'X')), await sent('freshdesk', key('key-12345')));
});

t.test('kinds that a provider does not take', async (t) => {
  const wrong: readonly [AuthProvider, Record<string, unknown>][] = [
    ['github', basic('a', 'b')], ['github', key('abcdefgh', 'query_api_key')], ['twilio', key('abcdefgh')], ['serpapi', key('abcdefgh')], ['serpapi', basic('a', 'b')], ['freshdesk', key('abcdefgh', 'query_api_key')],
  ];
  for (const [provider, secret] of wrong) t.equal(await sent(provider, secret), 'failed kind_mismatch terminal', `${provider} ${String(secret.kind)}`);
});

t.test('values that cannot be sent', async (t) => {
  for (const token of ['', 'a b', 'a\r\nx: y', 'a\0b', 'ü-token', 'a'.repeat(8_193)]) t.equal(await sent('github', key(token)), 'failed invalid_value terminal', JSON.stringify(token.slice(0, 9)));
  for (const [user, password] of [['a:b', 'c'], ['', 'c'], ['a', ''], ['a\n', 'b'], ['a', 'b\r'], ['a', '\ud800']] as const) t.equal(await sent('twilio', basic(user, password)), 'failed invalid_value terminal', JSON.stringify([user, password]));
  for (const value of ['', 'a\nb', '\udfff']) t.equal(await sent('serpapi', key(value, 'query_api_key')), 'failed invalid_value terminal', JSON.stringify(value));
});

t.test('OAuth: its kinds have no minter here, and its providers take no other', async (t) => {
  t.equal(await sent('google', { kind: 'oauth2_client_credentials' }), 'no kind');
  for (const provider of ['google', 'microsoft'] as const) {
    for (const secret of [key('abcdefgh'), key('abcdefgh', 'query_api_key'), basic('ann', 'abcdefgh')]) t.equal(await sent(provider, secret), 'failed kind_mismatch terminal');
  }
});
