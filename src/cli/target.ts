import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readSettings } from '../config/settings.ts';
import { Secret } from '../kernel/secret.ts';
import { readDevFile } from './dev-file.ts';

/** Where `customhouse audit` finds the API, and what it shows there. `baseUrl` ends before `/v1`. */
export type ApiTarget = { readonly baseUrl: string; readonly token: Secret };

export type TargetOptions = { readonly dataDir?: string; readonly baseUrl?: string; readonly token?: string; readonly user?: string };

export const defaultDataDir = '.data';

export function addTargetOptions(command: Command): Command {
  return command
    .option('--data-dir <dir>', `stack whose dev.json names API and key (default: ${defaultDataDir}, when CUSTOMHOUSE_URL is not set)`)
    .option('--base-url <url>', 'address of the API (or CUSTOMHOUSE_URL)')
    .option('--token <token>', 'API key or session token (or CUSTOMHOUSE_TOKEN, which no process list shows)')
    .option('--user <role>', 'with --data-dir: the session of the demo org\'s owner, operator or member instead of its API key');
}

type Found = { readonly baseUrl?: string | undefined; readonly token?: string | undefined };

function fromDevFile(dataDir: string, user: string | undefined): Found {
  const dev = readDevFile(resolve(dataDir));
  if (dev === undefined) return {};
  const [org] = dev.orgs;
  if (user === undefined) return { baseUrl: dev.base_url, token: org?.api_key };
  const found = org?.users.find((candidate) => candidate.role === user);
  if (found === undefined) throw new Error(`--user: the org ${org?.name ?? ''} of this stack has no ${user}; it has ${(org?.users ?? []).map((one) => one.role).join(', ')}`);
  return { baseUrl: dev.base_url, token: found.token };
}

function plainBase(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw new Error('--base-url: expected an address starting with http:// or https://');
  return url.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/**
 * Options win over a data directory that was named, that over the environment, and that over the default data directory. Throws with
 * what to give when address or token is missing.
 */
export function resolveTarget(options: TargetOptions): ApiTarget {
  const settings = readSettings();
  const named = options.dataDir === undefined && options.user === undefined ? {} : fromDevFile(options.dataDir ?? defaultDataDir, options.user);
  const environment: Found = { baseUrl: settings.cliBaseUrl, token: settings.cliToken };
  const local = environment.baseUrl === undefined && options.baseUrl === undefined ? fromDevFile(defaultDataDir, undefined) : {};
  const baseUrl = options.baseUrl ?? named.baseUrl ?? (options.dataDir === undefined ? environment.baseUrl ?? local.baseUrl : undefined);
  const token = options.token ?? named.token ?? environment.token ?? (options.dataDir === undefined ? local.token : undefined);
  if (baseUrl === undefined) {
    throw new Error(options.dataDir === undefined ? 'no API: give --data-dir of a running stack, or --base-url and --token, or set CUSTOMHOUSE_URL and CUSTOMHOUSE_TOKEN' : `no stack in ${options.dataDir}: there is no dev.json (is it up?)`);
  }
  if (token === undefined) throw new Error('no credentials: give --token or set CUSTOMHOUSE_TOKEN');
  return { baseUrl: plainBase(baseUrl), token: new Secret(token) };
}
