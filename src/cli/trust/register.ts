import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { Option } from 'commander';
import { readCertificates } from '../../proxy/tls/certificate-authority.ts';
import { wellKnownCaUrl } from '../../proxy/tls/well-known.ts';
import { writeBundle } from './bundle.ts';
import type { TrustOptions } from './locate.ts';
import { locate } from './locate.ts';
import type { Tool } from './tools.ts';
import { environmentOf, toolLines } from './tools.ts';

type Trust = {
  /** Absolute path of the certificate; with SHA-256 fingerprint, name and end of the signing one. */
  readonly ca_cert: string;
  readonly subject: string;
  readonly fingerprint_sha256: string;
  readonly not_after: string;
  readonly proxy_url: string;
  readonly ca_url: string;
  /** Null when none was written. */
  readonly bundle: { readonly path: string; readonly certificates: number } | null;
  readonly environment: Readonly<Record<string, string>>;
  readonly tools: readonly Tool[];
};

function trust(options: TrustOptions & { readonly bundle?: string }): Trust {
  const { caPath, proxyUrl } = locate(options);
  const certificates = readCertificates(readFileSync(caPath, 'latin1'), caPath);
  const [first] = certificates;
  if (!first.ca) throw new Error(`CA ${caPath}: the first certificate is not a CA`);
  const bundlePath = options.bundle === undefined ? undefined : resolve(options.bundle);
  const bundle = bundlePath === undefined ? null : { path: bundlePath, certificates: writeBundle(bundlePath, caPath, certificates) };
  const places = { caPath, rootsPath: bundlePath ?? caPath, proxyUrl };
  return {
    ca_cert: caPath,
    subject: first.subject.replaceAll('\n', ', '),
    fingerprint_sha256: first.fingerprint256,
    not_after: first.validToDate.toISOString(),
    proxy_url: proxyUrl,
    ca_url: wellKnownCaUrl,
    bundle,
    environment: environmentOf(places),
    tools: toolLines(places),
  };
}

/** Lines to copy, tool by tool; all else is a comment of the shell. */
function human(found: Trust): string {
  const lines = [
    `# ${found.subject}, until ${found.not_after.slice(0, 10)}`,
    `# SHA-256 ${found.fingerprint_sha256}`,
    `# ${found.ca_cert}`,
    `# On another machine: curl -x ${found.proxy_url} ${found.ca_url}   (compare the SHA-256)`,
    found.bundle === null
      ? '# The CA alone is enough for what goes through the proxy. For hosts in NO_PROXY too, add --bundle FILE.'
      : `# ${found.bundle.path} holds it and all public roots, ${found.bundle.certificates} certificates.`,
  ];
  for (const { tool, lines: commands, note } of found.tools) lines.push('', `# ${tool}${note === undefined ? '' : `: ${note}`}`, ...commands);
  return `${lines.join('\n')}\n`;
}

/** `customhouse trust`: how the tools of an agent come to trust the proxy's certificates. Reads the certificate only, never the key. */
export function registerTrust(program: Command): void {
  program.command('trust')
    .description('how curl, Node, Python, Go, Java, git and wget trust the CA of the proxy')
    .option('--data-dir <dir>', 'data directory of a stack (default: .data, else PROXY_CA_CERT)')
    .option('--ca <file>', 'the certificate itself, PEM')
    .option('--bundle <file>', 'write the CA and all public roots into one PEM file, and name it in the lines')
    .addOption(new Option('--format <format>', 'for people or for programs').choices(['human', 'json']).default('human'))
    .action((options: TrustOptions & { bundle?: string; format: 'human' | 'json' }) => {
      const found = trust(options);
      process.stdout.write(options.format === 'json' ? `${JSON.stringify(found, null, 2)}\n` : human(found));
    });
}
