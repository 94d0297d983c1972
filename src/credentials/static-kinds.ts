import { authProviders } from '../kernel/auth-providers.ts';
import type { KindOutcome, MintKinds } from './kinds.ts';
import { MintedCredential } from './minted-credential.ts';
import { formatOf, sinkOf } from './sinks.ts';
import type { StoredCredential } from './vault.ts';

const valueCharactersMax = 8_192;

/** Freshdesk and its like take the API key as the user name and ignore the password, which must be there. */
const unreadPassword = 'X';

/** Kinds whose durable secret is what is sent, in another spelling (contract 2.2): nothing to ask anyone for, nothing that expires. */
export const staticKinds: MintKinds = { api_key: mintStatic, basic_auth: mintStatic, query_api_key: mintStatic };

async function mintStatic(stored: StoredCredential): Promise<KindOutcome> {
  if (authProviders[stored.provider] === 'oauth') return kindMismatch;
  const format = formatOf(stored.provider);
  const sink = sinkOf(stored.provider);
  if (stored.kind === 'basic_auth') {
    if (format !== 'basic' && format !== 'keyAsUser') return kindMismatch;
    return basic(stored.username, stored.password.reveal(), format === 'keyAsUser');
  }
  if (stored.kind === 'api_key' && format === 'keyAsUser') return basic(stored.apiKey.reveal(), unreadPassword, true);
  if (stored.kind === 'api_key' && sink.kind === 'header' && format !== 'basic') {
    const token = stored.apiKey.reveal();
    if (!isToken(token)) return invalidValue;
    return minted(format === 'bearer' ? `Bearer ${token}` : format === 'token' ? `Token token=${token}` : token, [token]);
  }
  if (stored.kind === 'query_api_key' && sink.kind === 'query') {
    const key = stored.apiKey.reveal();
    // The transform percent-encodes the value, so any text could be sent; a control character is a paste gone wrong.
    if (!isText(key)) return invalidValue;
    return minted(key, [key, encodeURIComponent(key)]);
  }
  return kindMismatch;
}

/** RFC 7617. A user name is no secret, unless it is the key: addresses of people stand in many answers rightly. */
function basic(user: string, password: string, userIsSecret: boolean): KindOutcome {
  if (!isText(user) || !isText(password) || user.includes(':')) return invalidValue;
  const pair = Buffer.from(`${user}:${password}`).toString('base64');
  return minted(`Basic ${pair}`, [pair, password, ...(userIsSecret ? [user] : [])]);
}

function minted(value: string, secrets: readonly string[]): KindOutcome {
  return { ok: true, minted: new MintedCredential(value, [...new Set(secrets)]) };
}

/** Visible ASCII without spaces: the only thing that is one token in every header's syntax. */
function isToken(text: string): boolean {
  return text.length <= valueCharactersMax && /^[\x21-\x7e]+$/.test(text);
}

function isText(text: string): boolean {
  return text.length <= valueCharactersMax && text.isWellFormed() && /^\P{Cc}+$/u.test(text);
}

/** The provider takes no credential of this kind. */
const kindMismatch: KindOutcome = { ok: false, status: 'failed', reason: 'kind_mismatch', terminal: true };

/** What is stored cannot be written where the provider takes it. */
const invalidValue: KindOutcome = { ok: false, status: 'failed', reason: 'invalid_value', terminal: true };
