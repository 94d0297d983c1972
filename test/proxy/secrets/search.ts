import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { secretForms } from '../../../src/proxy/scrub/secret-forms.ts';
import type { Harness } from '../proxy-harness.ts';
import type { Place } from './planted.ts';
import { hiddenFromAgent, planted } from './planted.ts';

/** Where secrets are looked for in whichever spelling. */
function found(texts: Readonly<Record<string, Buffer | string>>, secrets: Readonly<Record<string, string>>): string[] {
  const leaks: string[] = [];
  for (const [name, secret] of Object.entries(secrets)) {
    const forms = secretForms([secret]);
    for (const [where, text] of Object.entries(texts)) {
      const bytes = Buffer.from(text);
      const form = forms.find((each) => bytes.includes(each));
      if (form !== undefined) {
        const at = bytes.indexOf(form);
        leaks.push(`${name} in ${where}: ${bytes.subarray(Math.max(0, at - 60), at + form.length + 20).toString()}`);
      }
    }
  }
  return leaks;
}

async function filesUnder(dir: string): Promise<Record<string, Buffer>> {
  const files: Record<string, Buffer> = {};
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) files[`file ${entry.name}`] = await readFile(join(entry.parentPath, entry.name));
  }
  return files;
}

/**
 * Every place a planted secret or a token turned up where it must not be: files of the journal before and after they are sealed, rows,
 * logs and metrics for all of them; what the agent received for those that are not its own.
 */
export async function leaks(harness: Harness, journalDir: string, received: readonly string[], tokens: readonly string[], others: readonly unknown[] = []): Promise<string[]> {
  const unsealed = await filesUnder(journalDir);
  const metrics = await (await fetch(`${harness.proxy.adminUrl}/metrics`)).text();
  const readiness = await (await fetch(`${harness.proxy.adminUrl}/readyz`)).text();
  const rows = JSON.stringify(await harness.rows());
  const logs = inspect([harness.logged, others], { depth: 10, maxStringLength: Infinity, maxArrayLength: Infinity, showHidden: true });
  const signatures = Object.fromEntries(tokens.map((token, at) => [`signature of token ${at}`, token.split('.').at(-1) ?? token]));
  const answers = Object.fromEntries(received.map((text, at) => [`answer ${at}`, Buffer.from(text, 'latin1')]));
  const hidden = Object.fromEntries(hiddenFromAgent.map((place: Place) => [place, planted[place]]));
  return [...found({ ...unsealed, metrics, readiness, rows, logs }, { ...planted, ...signatures }), ...found(answers, { ...hidden, ...signatures })];
}
