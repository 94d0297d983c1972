import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { readIPv6 } from '../../kernel/host.ts';
import type { HostPattern } from '../model.ts';
import type { ProblemSlug } from '../problem-slugs.ts';
import type { Reporter } from '../problem.ts';
import type { StringField } from './fields.ts';
import { shown } from './fields.ts';

type Refused = { readonly slug: ProblemSlug; readonly message: string; readonly hint?: string };
type Host = Pick<HostPattern, 'kind' | 'labels' | 'wildcard'>;
type Port = { readonly named: number | undefined } | 'bad';

/** Default ports are dropped (contract 2.7): 443 of https, 80 of http. */
const defaultPorts: ReadonlySet<number> = new Set([80, 443]);
const badPort: Refused = { slug: 'domain_port', message: 'the port is not a number from 1 to 65535' };

/** One entry of `domains` (contract 2.7, domain rules), normalised. */
export function checkDomain(field: StringField, rule: { readonly allowInsecure: boolean }, reporter: Reporter): HostPattern | undefined {
  const read = readEntry(field.value.trim());
  if ('slug' in read) {
    reporter.problem(read.slug, field, `domain ${shown(field.value)} ${read.message}`, read.hint === undefined ? {} : { hint: read.hint });
    return undefined;
  }
  const { host, named } = read;
  const port = named === undefined || defaultPorts.has(named) ? undefined : named;
  const name = host.kind === 'ipv6' ? `[${host.labels.join('')}]` : host.labels.join('.');
  const text = port === undefined ? name : `${name}:${port}`;
  if (named === 80 && !rule.allowInsecure) {
    reporter.warning('domain_port_80', field, `port 80 is dropped as a default port, and the rule requires HTTPS: ${text} is admitted on port 443`, { hint: 'set allow_insecure: true, or leave the port out' });
  }
  if (isBroad(host)) reporter.warning('domain_broad', field, `${text} covers every host under a top-level domain`);
  return Object.freeze({ ...host, labels: Object.freeze([...host.labels]), port, text, path: field.path, position: field.position });
}

function readEntry(written: string): { readonly host: Host; readonly named: number | undefined } | Refused {
  if (written === '') return { slug: 'domain_empty', message: 'is empty' };
  // Before letters are lowered: some others have ASCII letters for their lower case (the Kelvin sign).
  if (/[^\u0000-\u007f]/.test(written)) return notAscii(written);
  const text = written.toLowerCase();
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//.exec(text)?.[0];
  if (scheme !== undefined) return { slug: 'domain_scheme', message: 'has a scheme', hint: `write the host alone${scheme === 'http://' ? ', and allow_insecure: true on the rule' : ''}` };
  if (text.startsWith('[')) return bracketed(text);
  const [name = '', portText, ...more] = text.split(':');
  if (more.length > 0) return isIPv6(text) ? { slug: 'domain_ipv6_brackets', message: 'is an IPv6 address without brackets', hint: `write "[${text}]"` } : { slug: 'domain_syntax', message: 'has more than one colon', hint: 'an IPv6 address stands in brackets' };
  const port = portOf(portText);
  if (port === 'bad') return badPort;
  const host = readName(name);
  return 'slug' in host ? host : { host, ...port };
}

function notAscii(written: string): Refused {
  const [name = ''] = written.split(':');
  const ascii = domainToASCII(name);
  return { slug: 'domain_not_ascii', message: 'holds characters outside of ASCII', ...(/^[a-z0-9._*-]+$/.test(ascii) ? { hint: `write ${shown(ascii)}` } : {}) };
}

function bracketed(text: string): { readonly host: Host; readonly named: number | undefined } | Refused {
  const parts = /^\[([^\]]*)\](?::(.*))?$/s.exec(text);
  const address = readIPv6(parts?.[1] ?? '');
  if (parts === null || 'refused' in address) return { slug: 'domain_ipv6_brackets', message: 'is not an IPv6 address in brackets', hint: 'for example "[2001:db8::1]" or "[2001:db8::1]:8080", without a zone' };
  const port = portOf(parts[2]);
  return port === 'bad' ? badPort : { host: { kind: 'ipv6', labels: [address.text], wildcard: false }, ...port };
}

function portOf(text: string | undefined): Port {
  if (text === undefined) return { named: undefined };
  return /^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= 65535 ? { named: Number(text) } : 'bad';
}

function readName(text: string): Host | Refused {
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  if (name === '*') return { slug: 'domain_wildcard', message: 'would allow every host', hint: 'a * stands for one label, as in *.example.com' };
  if (name.includes('**')) return { slug: 'domain_wildcard', message: 'has **, which is not a domain wildcard', hint: 'one * a label, as in *.example.com or *.*.example.com' };
  if (!/^[a-z0-9._*-]+$/.test(name)) return { slug: 'domain_syntax', message: 'holds what no host name has', hint: 'letters, digits, - and _ in labels; a path goes into paths' };
  const labels = name.split('.');
  if (labels.includes('')) return { slug: 'domain_syntax', message: 'has an empty label' };
  if (labels.some((label) => label.split('*').length > 2)) return { slug: 'domain_wildcard', message: 'has more than one * in a label' };
  if (labels.some((label) => label.length > 63) || name.length > 253) return { slug: 'domain_syntax', message: 'is too long: a label has at most 63 characters, a name 253' };
  if (isIPv4(name)) return { kind: 'ipv4', labels: [name], wildcard: false };
  if (labels.length < 2 && !/^0x/.test(name)) return { slug: 'domain_too_few_labels', message: 'has one label, and needs at least two', hint: 'a full name such as api.example.com, or an address' };
  if (isNumeric(labels)) return { slug: 'domain_ipv4', message: 'ends in a number without being an IPv4 address', hint: 'four decimal numbers from 0 to 255, without leading zeros; a * never matches an address' };
  return { kind: 'name', labels, wildcard: name.includes('*') };
}

/** Resolvers take a last label that is a number for an address in some form, and a * in an address would match nothing. */
function isNumeric(labels: readonly string[]): boolean {
  const last = labels.at(-1) ?? '';
  if (/^(?:[0-9]+|0x[0-9a-f]*)$/.test(last.replace('*', ''))) return true;
  return last === '*' && labels.slice(0, -1).every((label) => /^[0-9]+$/.test(label));
}

/** Not even a registered name is fixed. */
function isBroad({ kind, labels, wildcard }: Host): boolean {
  return kind === 'name' && wildcard && labels.slice(-2).some((label) => label.includes('*'));
}
