import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Settings } from '../../config/settings.ts';
import { createKeySet } from '../../identity/key-set.ts';
import type { DevFile } from '../dev-file.ts';
import { processNames } from '../dev-file.ts';
import { jwksFile } from '../up/keys.ts';
import { isAlive } from '../up/supervisor.ts';
import type { Finding } from './finding.ts';
import { failed, ok } from './finding.ts';

const probeMs = 5_000;

/** The processes of a stack that `up` runs, and whether its API is ready. */
export async function stackFindings(dev: DevFile, dataDir: string): Promise<Finding[]> {
  const dead = processNames.filter((name) => !isAlive(dev.pids[name]));
  const processes: Finding = dead.length === 0
    ? ok('processes', processNames.map((name) => `${name} ${dev.pids[name]}`).join(', '))
    : { check: 'processes', state: 'fail', text: `not running: ${dead.join(', ')}`, fix: `look into ${join(dataDir, 'logs')}; when up itself is gone, start it again` };
  try {
    const response = await fetch(`${dev.base_url}/readyz`, { signal: AbortSignal.timeout(probeMs) });
    const answer = (await response.text()).slice(0, 500);
    return [processes, response.ok ? ok('api', `${dev.base_url} is ready`) : { check: 'api', state: 'fail', text: `not ready: ${answer}`, fix: 'bring up what it names' }];
  } catch (error) {
    return [processes, failed('api', error, `look into ${join(dataDir, 'logs/api.log')}`)];
  }
}

/** The key sets that tokens are checked with: those of the stack when one is up, else of the settings. */
export async function keyFindings(settings: Settings, stackDir: string | undefined): Promise<Finding[]> {
  const rows = [['session keys', 'session', settings.sessionJwksUrl, 'SESSION_JWKS_URL'], ['capability keys', 'capability', settings.capabilityJwksUrl, 'CAPABILITY_JWKS_URL']] as const;
  return Promise.all(rows.map(async ([check, purpose, configured, env]): Promise<Finding> => {
    const url = stackDir === undefined ? configured : pathToFileURL(jwksFile(stackDir, purpose)).href;
    try {
      // No key has this id: reaching "no such key" proves that the set was read and has the right shape.
      await createKeySet({ url, timeoutMs: probeMs })({ alg: 'EdDSA', kid: 'customhouse-doctor' }, { payload: '', signature: '', protected: '' });
      return ok(check, 'readable');
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'ERR_JWKS_NO_MATCHING_KEY') return ok(check, 'readable');
      return failed(check, error, stackDir === undefined ? `make the JWK Set at ${env} reachable` : `put back ${jwksFile(stackDir, purpose)}, or remove ${join(stackDir, 'keys')} and start again`);
    }
  }));
}
