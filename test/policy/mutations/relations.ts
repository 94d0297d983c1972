import type { Problem } from '../../../src/policy/problem.ts';

/**
 * Where the contract relates one place to another: a mutation at a place of `because` may be reported with one of `slugs` at a place of
 * `at`. The first group of both patterns must be the same text: the capability, rule, transform or counter that holds both.
 */
type Relation = { readonly why: string; readonly slugs: readonly Problem['slug'][]; readonly because: RegExp; readonly at: RegExp };

const capability = String.raw`^(capabilities\[\d+\])`;
const inCapability = (rest: string) => new RegExp(`${capability}${rest}`);
const rule = inCapability(String.raw`\.allow`);
const transforms = inCapability(String.raw`\.transforms`);
const expressionSlugs = ['undeclared_reference', 'cel_type', 'cel_result_type'] as const;

export const relations: readonly Relation[] = [
  { why: 'applies_to names rules', slugs: ['applies_to_unknown'], because: rule, at: inCapability(String.raw`\.transforms\[\d+\]\.applies_to`) },
  { why: 'a transform that looks into bodies needs request_format on its rules', slugs: ['request_format_required'], because: rule, at: transforms },
  { why: 'request.body in a transform has the types of the rule\'s schema', slugs: expressionSlugs, because: rule, at: transforms },
  { why: 'a rule that looks into bodies needs request_format', slugs: ['request_format_required'], because: /^(capabilities\[\d+\]\.allow\[\d+\])/, at: /^(capabilities\[\d+\]\.allow\[\d+\])/ },
  { why: 'a match needs requires_body for the body, and has the types of the schema', slugs: expressionSlugs, because: /^(capabilities\[\d+\]\.allow\[\d+\])/, at: /^(capabilities\[\d+\]\.allow\[\d+\])\.match/ },
  { why: 'what a transform sees depends on its targets and on requires_body', slugs: [...expressionSlugs, 'request_format_required'], because: /^(capabilities\[\d+\]\.transforms\[\d+\])/, at: /^(capabilities\[\d+\]\.transforms\[\d+\])/ },
  { why: 'body-reading counters need the Accept-Encoding transform', slugs: ['accept_encoding_identity_required'], because: transforms, at: inCapability(String.raw`\.budgets\.counters`) },
  { why: 'source, requires_body and framing say which other fields a counter has', slugs: [...expressionSlugs, 'value_not_allowed', 'requires_body_not_allowed', 'sse_event_not_allowed', 'field_not_allowed_for_source', 'field_required_for_source', 'terminator_required'], because: /^(capabilities\[\d+\]\.budgets\.counters\[\d+\])\.(?:source|requires_body|framing)/, at: /^(capabilities\[\d+\]\.budgets\.counters\[\d+\])/ },
  { why: 'the task ceiling is compared with that of the workspace', slugs: ['task_max_over_workspace', 'task_ttl_over_workspace'], because: /^(capabilities\[\d+\]\.budgets\.counters\[\d+\])\.workspace/, at: /^(capabilities\[\d+\]\.budgets\.counters\[\d+\])\.task/ },
  { why: 'failure_charge is compared with the scopes', slugs: ['failure_charge_over_max'], because: /^(capabilities\[\d+\]\.budgets\.counters\[\d+\])\.(?:workspace|task)/, at: /^(capabilities\[\d+\]\.budgets\.counters\[\d+\])\.failure_charge/ },
  { why: '$ref of a schema leads to another part of it', slugs: ['schema_invalid'], because: /^(capabilities\[\d+\]\.allow\[\d+\]\.request_schema)/, at: /^(capabilities\[\d+\]\.allow\[\d+\]\.request_schema)/ },
  { why: 'names that must be unique', slugs: ['duplicate_name'], because: /^(capabilities)/, at: /^(capabilities).*\.name$/ },
];

/**
 * Whether a problem at `path` may come from a mutation at `mutated`: inside of it, at what holds it directly (a missing field is reported
 * there), or at a related place. What holds the holder is too far away to be of help.
 */
export function isRelated({ slug, path }: Problem, mutated: string): boolean {
  if (within(path, mutated) || path === mutated.replace(/(?:\.[^.[\]]*|\[[^[\]]*\])$/, '')) return true;
  return relations.some(({ slugs, because, at }) => slugs.includes(slug) && because.exec(mutated)?.[1] !== undefined && because.exec(mutated)?.[1] === at.exec(path)?.[1]);
}

function within(inner: string, outer: string): boolean {
  return inner === outer || (inner.startsWith(outer) && /^[.[]/.test(inner.slice(outer.length)));
}
