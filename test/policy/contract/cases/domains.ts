import type { Area } from '../support/area.ts';
import { ruleWith } from '../support/documents.ts';

const domains = (list: string, rest = '') => ruleWith(`name: one\ndomains: [${list}]\n${rest}`);
const long = 'a'.repeat(63);

export const domainRules: Area = {
  section: '2.7 Domain rules',
  sentences: [
    {
      quote: 'At least 2 labels (bare `example` is rejected)',
      accepted: { 'two': domains('example.com'), 'many': domains('a.b.c.d.example.com') },
      rejected: { 'one': domains('‹domain_too_few_labels›example'), 'one with a port': domains('‹domain_too_few_labels›"example:8443"'), 'one with a dot': domains('‹domain_too_few_labels›example.'), 'localhost': domains('a.example.com, ‹domain_too_few_labels›localhost') },
    },
    {
      quote: 'One `*` per label is allowed (`*.example.com`)',
      accepted: { 'a label': domains('"*.example.com"'), 'a part of one': domains('"api-*.example.com", "*-eu.example.com", "a*b.example.com"'), 'in two labels': domains('"*.*.example.com"') },
      rejected: { 'two in a label': domains('‹domain_wildcard›"a*b*.example.com"') },
      decided: {
        'one label, not two and not none': {
          text: domains('"*.example.com"'),
          requests: { 'GET https://a.example.com/': 'one', 'GET https://a.b.example.com/': 'no_match', 'GET https://example.com/': 'no_match', 'GET https://a.example.com.evil.net/': 'no_match', 'GET https://xexample.com/': 'no_match' },
        },
        'a part of a label': { text: domains('"api-*.example.com"'), requests: { 'GET https://api-eu.example.com/': 'one', 'GET https://web-eu.example.com/': 'no_match', 'GET https://api-eu.b.example.com/': 'no_match' } },
        'never an address': { text: domains('"*.*.*.com", "*.example.com"'), requests: { 'GET https://10.0.0.1/': 'no_match', 'GET https://[2001:db8::1]/': 'no_match' } },
      },
    },
    {
      quote: '`**` and a bare `*` are rejected',
      accepted: { 'a star with labels after it': domains('"*.example.com"') },
      rejected: { '**': domains('‹domain_wildcard›"**.example.com"'), 'a bare star': domains('‹domain_wildcard›"*"'), '** inside a label': domains('‹domain_wildcard›"a**.example.com"'), 'a bare **': domains('‹domain_wildcard›"**"') },
    },
    {
      quote: 'IPv4 addresses are accepted as they are',
      accepted: { 'an address': domains('10.1.2.3'), 'with a port': domains('"10.1.2.3:8443"'), 'the largest': domains('255.255.255.255') },
      rejected: {
        'too large a part': domains('‹domain_ipv4›10.1.2.256'),
        'three parts': domains('‹domain_ipv4›"10.1.2"'),
        'five parts': domains('‹domain_ipv4›10.1.2.3.4'),
        'a leading zero': domains('‹domain_ipv4›10.1.2.03'),
        'hexadecimal': domains('‹domain_ipv4›10.1.2.0x3'),
        'a name that ends in a number': domains('‹domain_ipv4›api.example.1'),
      },
      decided: { 'the address': { text: domains('10.1.2.3'), requests: { 'GET https://10.1.2.3/': 'one', 'GET https://10.1.2.30/': 'no_match', 'GET https://a10.1.2.3/': 'no_match' } } },
    },
    {
      quote: 'IPv6 addresses must be in brackets (with optional port)',
      accepted: { 'an address': domains('"[2001:db8::1]"'), 'with a port': domains('"[2001:db8::1]:8443"'), 'short': domains('"[::1]"') },
      rejected: {
        'no brackets': domains('‹domain_ipv6_brackets›"2001:db8::1"'),
        'the short one without brackets': domains('‹domain_ipv6_brackets›"::1"'),
        'not an address': domains('‹domain_ipv6_brackets›"[2001:db8::g]"'),
        'an IPv4 address in brackets': domains('‹domain_ipv6_brackets›"[10.1.2.3]"'),
        'not closed': domains('‹domain_ipv6_brackets›"[2001:db8::1"'),
        'a zone': domains('‹domain_ipv6_brackets›"[fe80::1%eth0]"'),
        'a name in brackets': domains('‹domain_ipv6_brackets›"[api.example.com]"'),
        'a port that is none': domains('‹domain_port›"[2001:db8::1]:x"'),
      },
      decided: {
        'however it was written': { text: domains('"[2001:DB8:0:0::1]:8443"'), requests: { 'GET https://[2001:db8::1]:8443/': 'one', 'GET https://[2001:db8::1]/': 'no_match', 'GET https://[2001:db8::2]:8443/': 'no_match' } },
      },
    },
    {
      quote: 'Schemes (`http://`, `https://`) are rejected',
      accepted: { 'none': domains('api.example.com') },
      rejected: { 'https': domains('‹domain_scheme›"https://api.example.com"'), 'http': domains('‹domain_scheme›"http://api.example.com"'), 'capitals': domains('‹domain_scheme›"HTTPS://api.example.com"'), 'another one': domains('‹domain_scheme›"ftp://api.example.com"') },
    },
    {
      quote: 'Each entry is normalized: whitespace trimmed, lowercased',
      accepted: { 'blanks': domains('" api.example.com\\t"'), 'capitals': domains('API.Example.COM') },
      rejected: { 'a blank inside': domains('‹domain_syntax›"api .example.com"'), 'only blanks': domains('‹domain_empty›"  "'), 'empty': domains('‹domain_empty›""') },
      decided: { 'both': { text: domains('" API.Example.COM "'), requests: { 'GET https://api.example.com/': 'one' } } },
    },
    {
      quote: 'Each entry is normalized: default port dropped (80 for http, 443 for https)',
      accepted: { '443': domains('"api.example.com:443"'), '80': domains('"api.example.com:80"', 'allow_insecure: true'), 'another port stays': domains('"api.example.com:8443"') },
      rejected: {
        'no number': domains('‹domain_port›"api.example.com:https"'),
        'nothing': domains('‹domain_port›"api.example.com:"'),
        '0': domains('‹domain_port›"api.example.com:0"'),
        'too large': domains('‹domain_port›"api.example.com:65536"'),
        'a star': domains('‹domain_port›"api.example.com:*"'),
      },
      decided: {
        '443 dropped': { text: domains('"api.example.com:443"', 'allow_insecure: true'), requests: { 'GET https://api.example.com/': 'one', 'GET http://api.example.com/': 'one', 'GET https://api.example.com:8443/': 'no_match' } },
        '80 dropped': { text: domains('"api.example.com:80"', 'allow_insecure: true'), requests: { 'GET http://api.example.com/': 'one', 'GET https://api.example.com/': 'one' } },
        'another port': { text: domains('"api.example.com:8443"'), requests: { 'GET https://api.example.com:8443/': 'one', 'GET https://api.example.com/': 'no_match' } },
        'no port means the default one': { text: domains('api.example.com'), requests: { 'GET https://api.example.com:443/': 'one', 'GET https://api.example.com:80/': 'no_match' } },
      },
    },
    {
      quote: 'Each entry is normalized: trailing dot dropped',
      accepted: { 'one dot': domains('api.example.com.'), 'a dot before the port': domains('"api.example.com.:8443"') },
      rejected: { 'two dots': domains('‹domain_syntax›api.example.com..') },
      decided: { 'one dot': { text: domains('api.example.com.'), requests: { 'GET https://api.example.com/': 'one' } } },
    },
    {
      quote: 'domains are hostname patterns',
      accepted: { 'an underscore': domains('_sip.example.com'), 'labels of 63': domains(`${long}.example.com`), 'punycode': domains('xn--bcher-kva.example.com') },
      rejected: {
        'a path': domains('‹domain_syntax›"api.example.com/v1"'),
        'a user': domains('‹domain_syntax›"me@api.example.com"'),
        'a query': domains('‹domain_syntax›"api.example.com?x"'),
        'an empty label': domains('‹domain_syntax›api..example.com'),
        'a label of 64': domains(`‹domain_syntax›${long}a.example.com`),
        'a name of more than 253': domains(`‹domain_syntax›${`${long}.`.repeat(4)}example.com`),
        'not ASCII': domains('‹domain_not_ascii›bücher.example.com'),
        'each of several': domains('‹domain_scheme›"https://a.example.com", ‹domain_too_few_labels›b'),
      },
    },
  ],
};
