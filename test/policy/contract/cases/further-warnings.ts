import type { Area } from '../support/area.ts';
import { capabilityWith, countersWith, headersOnly, ruleWith, transformsWith } from '../support/documents.ts';

const rules = (...list: readonly string[]) => capabilityWith(`allow:\n${list.map((rule) => `  - ${rule}\n`).join('')}`);
const remove = 'header: {name: x-demo, action: remove}';
const warns = 'a warning does not reject';

/** Warnings beyond the contract's four, which a reviewer of a policy would want. */
export const furtherWarnings: Area = {
  section: 'Further warnings',
  sentences: [
    {
      quote: 'an earlier rule always wins',
      oneSided: warns,
      accepted: {
        'the same rule again': rules('{name: a, domains: [a.example.com], methods: [GET]}', '‹!rule_unreachable›‹!ambiguous_rules›{name: b, domains: [a.example.com], methods: [GET], paths: [/b]}'),
        'not when the earlier one has a condition': rules('{name: a, domains: [a.example.com], methods: [GET], match: {expr: "true"}}', '‹!ambiguous_rules›{name: b, domains: [a.example.com], methods: [GET], paths: [/b]}'),
      },
    },
    { quote: 'status codes that a counter can never see', oneSided: warns, accepted: { 'interim answers': countersWith(`‹!status_codes_impossible|1xx›${headersOnly.replace('["200"]', '["200", "1xx"]')}`) } },
    { quote: 'two rules of a capability share a name', oneSided: warns, accepted: { 'twice': rules('{name: a, domains: [a.example.com], methods: [GET]}', '‹!duplicate_rule_name›{name: a, domains: [b.example.com], methods: [GET]}') } },
    { quote: 'two transforms share a name', oneSided: warns, accepted: { 'twice': transformsWith(`name: a\n${remove}`, `‹!duplicate_transform_name›name: a\n${remove.replace('x-demo', 'x-other')}`) } },
    { quote: 'port 80 is dropped while the rule requires HTTPS', oneSided: warns, accepted: { 'https': ruleWith('domains: [‹!domain_port_80›"a.example.com:80"]'), 'http': ruleWith('allow_insecure: true\ndomains: ["a.example.com:80"]') } },
    { quote: 'a pattern covers every host under a top-level domain', oneSided: warns, accepted: { 'broad': ruleWith('domains: [‹!domain_broad›"*.com"]'), 'not broad': ruleWith('domains: ["*.example.com"]') } },
    { quote: 'no request path can match a glob', oneSided: warns, accepted: { 'a query': ruleWith('paths: [‹!path_never_matches›"/a?b=c"]'), 'a fragment': ruleWith('paths: [‹!path_never_matches›"/a#b"]'), 'dot segments': ruleWith('paths: [‹!path_never_matches›/a/../b]'), 'an empty segment': ruleWith('paths: [‹!path_never_matches›/a//b]') } },
    {
      quote: 'the proxy owns a header',
      oneSided: warns,
      accepted: Object.fromEntries(['Host', 'content-length', 'Transfer-Encoding', 'connection', 'x-capability-token', 'Proxy-Authorization'].map((name) => [name, transformsWith(`header: {name: ‹!header_managed_by_proxy›${name}, action: remove}`)])),
    },
    { quote: 'a task ceiling that can never be reached first', oneSided: warns, accepted: { 'the same, and no ttl': countersWith('name: calls\nsource: request.count\nworkspace: {max: 5}\ntask: ‹!task_scope_never_binds›{max: 5}') } },
  ],
};
