import { relative } from 'node:path';
import type { DevFile } from '../dev-file.ts';
import { devFilePath } from '../dev-file.ts';

/**
 * What `up` says when everything answers: addresses, a key, and lines that work when they are pasted as they are, also into zsh, which
 * takes a comment for a command: no quotes or brackets in those.
 */
export function welcome(file: DevFile, dataDir: string, running: 'here' | 'in the background'): string {
  const demo = file.orgs.find((org) => org.name === 'demo');
  if (demo === undefined) throw new Error('the demo org is missing from what was seeded');
  const token = demo.workspaces[0]?.capability_token ?? '';
  const place = relative(process.cwd(), dataDir);
  const shown = place === '' || place.startsWith('..') ? dataDir : place;
  const option = shown === '.data' ? '' : ` --data-dir ${quoted(shown)}`;
  return `
  Customhouse is up. All state is in ${shown}; addresses, keys, tokens and process ids are in ${devFilePath(shown)}.

  API      ${file.base_url}/v1
  docs     ${file.base_url}/docs
  proxy    ${file.proxy_url}
  API key  ${demo.api_key}  (org ${demo.name}, ${demo.org_id})

  Try, in another terminal:

# import a thousand made-up rows
scripts/customhouse import examples/events.ndjson --org ${demo.org_id}${option}

# the newest rows
curl -H "Authorization: Bearer ${demo.api_key}" "${file.base_url}/v1/audit?limit=5"

# watch new rows arrive
curl -N "${file.base_url}/v1/audit/stream?api_key=${demo.api_key}"

# call out as an agent to where its policy does not let it, which is denied and recorded
curl -x "http://agent:${token}@${new URL(file.proxy_url).host}" http://example.org/

  ${running === 'here' ? 'Ctrl-C stops everything in order' : `Everything runs in the background. scripts/customhouse down${option} stops it`}; the data stays, and the next run continues with it.
`;
}

/** For a shell; left plain where nothing needs it. */
function quoted(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll('\'', '\'\\\'\'')}'`;
}
