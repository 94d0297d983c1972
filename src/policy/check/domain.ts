import { domainToASCII } from 'node:url';
import { isIPv4 } from 'node:net';
import { readIPv6 } from '../../kernel/host.ts';
import type { HostPattern } from '../model.ts';
import type { ProblemSlug } from '../problem-slugs.ts';
import type { Reporter } from '../problem.ts';
import type { StringField } from './fields.ts';
import { shown } from './fields.ts';

type Refused = { readonly slug: ProblemSlug; readonly message: string; readonly hint?: string };
type Pattern = Pick<HostPattern, 'text' | 'kind' | 'labels' | 'wildcard' | 'port'>;

/** Default ports are dropped (contract 2.7): 443 of https, 80 of http. */
const defaultPorts: ReadonlySet<number> = new Set([80, 443]);

/** One entry of `domains` (contract 2.7, domain rules), normalised. */
export function checkDomain(field: StringField, rule: { readonly allowInsecure: boolean }, reporter: Reporter): HostPattern | undefined {
  const read = readPattern(field.value.trim().toLowerCase());
  if ('slug' in read) {
    reporter.problem(read.slug, field, `domain ${shown(field.value)}: ${read.message}`, read.hint === undefined ? {} : { hint: read.hint });
    return undefined;
  }
  const { pattern, namedPort } = read;
  if (namedPort === 80 && !rule.allowInsecure) {
    reporter.warning('domain_port_80', field, `port 80 is dropped as a default port, and the rule requires HTTPS: ${pattern.text} is admitted on port 443`, { hint: 'set allow_insecure: true, or leave the port out' });
  }
  const fixed = pattern.labels.filter((label) => !label.includes('*'));
  if (pattern.kind === 'name' && pattern.wildcard && fixed.length < 2 && (pattern.labels.at(-2)?.includes('*') === true || fixed.length === 0)) {
    reporter.warning('domain_broad', field, `${pattern.text} covers every host under a top-level domain`);
  }
  return Object.freeze({ ...pattern, path: field.path, position: field.position });
}

function readPattern(text: string): { readonly pattern: Pattern; readonly namedPort: number | undefined } | Refused {
  if (text === '') return { slug: 'domain_empty', message: 'the entry is empty' };
  if (/^[a-z][a-z0-9+.-]*:\/\//.test(text)) return { slug: 'domain_scheme', message: 'has a scheme', hint: `write ${shown(text.replace(/^[a-z][a-z0-9+.-]*:\/\//, ''))}${text.startsWith('http:') ? ' and allow_insecure: true' : ''}` };
  if (text.startsWith('[')) return bracketed(text);
  const colons = text.split(':').length - 1;
  if (colons > 1) return { slug: 'domain_ipv6_brackets', message: 'an IPv6 address stands in brackets', hint: `[${text}]`.slice(0, 60) };
  const [name = '', portText] = text.split(':');
  const port = portOf(portText);
  if (port === 'bad') return { slug: 'domain_port', message: 'the port is not a number from 1 to 65535' };
  const read = readName(name);
  return 'slug' in read ? read : withPort(read, name, port);
}

function bracketed(text: string): { readonly pattern: Pattern; readonly namedPort: number | undefined } | Refused {
  const parts = /^\[([^\]]*)\](?::(.*))?$/s.exec(text);
  const address = readIPv6(parts?.[1] ?? '');
  if (parts === null || 'refused' in address) return { slug: 'domain_ipv6_brackets', message: 'not an IPv6 address in brackets', hint: '[2001:db8::1] or [2001:db8::1]:8080' };
  const port = portOf(parts[2]);
  if (port === 'bad') return { slug: 'domain_port', message: 'the port is not a number from 1 to 65535' };
  return withPort({ kind: 'ipv6', labels: [address.text], wildcard: false }, `[${address.text}]`, port);
}

function withPort(read: Pick<Pattern, 'kind' | 'labels' | 'wildcard'>, name: string, named: number | undefined): { readonly pattern: Pattern; readonly namedPort: number | undefined } {
  const port = named === undefined || defaultPorts.has(named) ? undefined : named;
  const shownName = read.kind === 'name' ? read.labels.join('.') : name.replace(/\.$/, '');
  return { pattern: { ...read, labels: Object.freeze([...read.labels]), port, text: port === undefined ? shownName : `${shownName}:${port}` }, namedPort: named };
}

function portOf(text: string | undefined): number | undefined | 'bad' {
  if (text === undefined) return undefined;
  return /^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= 65535 ? Number(text) : 'bad';
}

function readName(text: string): Pick<Pattern, 'kind' | 'labels' | 'wildcard'> | Refused {
  if (/[^\x20-\x7e]/.test(text)) {
    const ascii = domainToASCII(text);
    return { slug: 'domain_not_ascii', message: 'holds characters outside of ASCII', ...(ascii === '' ? {} : { hint: `write it as ${shown(ascii)}` }) };
  }
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  if (name === '*' || name.includes('**')) return { slug: 'domain_wildcard', message: name === '*' ? 'a bare * would allow every host' : '** is not a domain wildcard', hint: 'one * per label, as in *.example.com' };
  if (!/^[a-z0-9._*-]+$/.test(name)) return { slug: 'domain_syntax', message: 'a domain is letters, digits, - and _ in labels', hint: 'paths go into paths, ports behind a colon' };
  const labels = name.split('.');
  if (labels.includes('')) return { slug: 'domain_syntax', message: 'has an empty label' };
  if (labels.some((label) => label.split('*').length > 2)) return { slug: 'domain_wildcard', message: 'more than one * in a label' };
  if (labels.some((label) => label.length > 63) || name.length > 253) return { slug: 'domain_syntax', message: 'a label has at most 63 characters, a domain 253' };
  if (/^([0-9]+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) {
    if (isIPv4(name)) return { kind: 'ipv4', labels: [name], wildcard: false };
    if (labels.length > 1 || /^0x/.test(name)) return { slug: 'domain_ipv4', message: 'ends in a number, but is not an IPv4 address in four decimal parts' };
  }
  if (labels.length < 2) return { slug: 'domain_too_few_labels', message: 'a domain has at least two labels', hint: `${name}.example.com, or an address` };
  return { kind: 'name', labels, wildcard: name.includes('*') };
}
