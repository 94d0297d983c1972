import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readSettings } from '../../config/settings.ts';
import { readDevFile } from '../dev-file.ts';
import { defaultDataDir } from '../target.ts';

export type TrustOptions = { readonly dataDir?: string; readonly ca?: string };

/** Absolute path of the CA certificate, and the address of the proxy as an agent uses it (`http://host:port`). */
export type Found = { readonly caPath: string; readonly proxyUrl: string };

/** Name of the certificate in a data directory; the proxy of a development stack makes it there. */
const caFile = 'ca.pem';

function settingsProxyUrl(host: string, port: number): string {
  // A listener on all addresses is reached by the name of its machine, which is not known here.
  const shown = host === '0.0.0.0' || host === '::' ? 'PROXY-HOST' : host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${port}`;
}

/** `--ca` wins over the stack of a data directory, that over the settings of the environment. Throws with what to do when there is no file. */
export function locate(options: TrustOptions): Found {
  const settings = readSettings();
  const dataDir = resolve(options.dataDir ?? defaultDataDir);
  const dev = readDevFile(dataDir);
  if (options.dataDir !== undefined && options.ca === undefined && dev === undefined && !existsSync(join(dataDir, caFile))) {
    throw new Error(`no stack in ${options.dataDir}: there is neither dev.json nor ${caFile}`);
  }
  const ofStack = options.dataDir !== undefined || dev !== undefined ? dev?.ca_cert ?? join(dataDir, caFile) : undefined;
  const caPath = resolve(options.ca ?? ofStack ?? settings.proxyCaCert);
  if (!existsSync(caPath)) throw new Error(`no CA certificate at ${caPath}: the proxy makes it at its first start; --ca names another file`);
  return { caPath, proxyUrl: dev?.proxy_url ?? settingsProxyUrl(settings.host, settings.proxyPort) };
}
