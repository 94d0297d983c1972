import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Setting } from '../src/config/setting.ts';
import { settingTable } from '../src/config/settings.ts';

// Prints `.env.example` (--env) and the settings table of the README (--markdown) from the settings table; --write puts both in place.

const root = join(import.meta.dirname, '..');
const width = 110;

/** Variables that only docker-compose.yml reads: they are no settings of a role. */
export const composeVariables = {
  POSTGRES_ADMIN_PASSWORD: 'Password of the Postgres superuser; used once, to make the service\'s own role',
  POSTGRES_PASSWORD: 'Password of the service at Postgres',
  REDIS_PASSWORD: 'Password of the service at Redis',
  PUBLISH_ADDRESS: 'Address of this host on which the API and the proxy are published; 127.0.0.1 when unset',
} as const;

/** Settings that docker-compose.yml asks for, as they have no default that could be right. */
export const composeRequired = ['POSTGRES_ADMIN_PASSWORD', 'POSTGRES_PASSWORD', 'REDIS_PASSWORD', 'CLICKHOUSE_PASSWORD', 'SESSION_JWKS_URL', 'CAPABILITY_JWKS_URL', 'INTERNAL_TOKEN', 'SECRETS_KEY'];

export const startMarker = '<!-- settings:start -->';
export const endMarker = '<!-- settings:end -->';

const rows: readonly Setting<unknown>[] = Object.values(settingTable);

function defaultText(row: Setting<unknown>): string {
  return row.fallbackDoc === undefined ? row.fallback ?? '' : '';
}

function wrapped(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last.length + word.length + 3 > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines.map((line) => `# ${line}`).join('\n');
}

export function envExample(): string {
  const required = Object.entries(composeVariables).map(([env, doc]) => `${wrapped(doc)}\n${composeRequired.includes(env) ? '' : '#'}${env}=\n`);
  const settings = rows.map((row) => {
    const note = row.fallbackDoc === undefined ? '' : ` (default: ${row.fallbackDoc})`;
    return composeRequired.includes(row.env) ? `${wrapped(row.doc)}\n${row.env}=\n` : `${wrapped(row.doc + note)}\n#${row.env}=${defaultText(row)}\n`;
  });
  return [
    '# Written by `npm run docs` from src/config/settings.ts. Copy it to `.env`.',
    '# A line that is commented out shows the default. Lines without # must be filled in for docker-compose.yml. Passwords become part of',
    '# URLs: use letters and digits, for example from `openssl rand -hex 24`.\n',
    '# ---- docker-compose.yml only ----\n',
    ...required,
    '# ---- settings of the roles; docker-compose.yml sets addresses, ports and directories inside the containers itself ----\n',
    ...settings,
  ].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

export function settingsTable(): string {
  const lines = rows.map((row) => {
    const shown = row.fallbackDoc ?? (row.fallback === undefined || row.fallback === '' ? '' : `\`${row.fallback}\``);
    return `| \`${row.env}\` | ${cell(shown)} | ${cell(row.doc)}${row.secret ? ' (secret)' : ''} |`;
  });
  return ['| variable | default | meaning |', '|---|---|---|', ...lines].join('\n');
}

/** The README's text with the table between its markers made current. */
export function withSettingsTable(readme: string): string {
  const from = readme.indexOf(startMarker);
  const to = readme.indexOf(endMarker);
  if (from < 0 || to < from) throw new Error(`README.md: the markers ${startMarker} and ${endMarker} are missing`);
  return `${readme.slice(0, from + startMarker.length)}\n${settingsTable()}\n${readme.slice(to)}`;
}

if (import.meta.main) {
  const [mode] = process.argv.slice(2);
  if (mode === '--env') process.stdout.write(envExample());
  else if (mode === '--markdown') process.stdout.write(`${settingsTable()}\n`);
  else if (mode === '--write') {
    const readmeFile = join(root, 'README.md');
    writeFileSync(join(root, '.env.example'), envExample());
    writeFileSync(readmeFile, withSettingsTable(readFileSync(readmeFile, 'utf8')));
  } else {
    process.stderr.write('usage: node scripts/settings-docs.ts --env | --markdown | --write\n');
    process.exitCode = 2;
  }
}
