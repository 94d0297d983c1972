/**
 * Every slug a problem or a warning about a capability document can carry, with what it means. Slugs are stable: editors, CI annotations
 * and tests rely on them. Adding a check is one row here and the code that reports it. The order follows contract 2.7.
 */
export const problemSlugs = {
  // Reading the text.
  yaml_syntax: 'The text is neither YAML 1.2 nor JSON',
  document_too_large: 'The text is larger than a capability document may be',
  document_too_deep: 'Lists and maps are nested too deep',
  document_too_many_nodes: 'The document has too many values, counted after aliases are followed',
  alias_not_allowed: 'An alias points to itself, to nothing, or expands too far',
  duplicate_key: 'A key occurs twice in one map',
  key_not_string: 'A key is not a plain string',
  unknown_tag: 'A YAML tag outside of the core schema',
  multiple_documents: 'More than one YAML document in the text',
  too_many_problems: 'The rest of the problems is not listed',

  // Shape, for any field.
  document_not_list: 'The document is not a list of capabilities',
  wrong_type: 'A value has another type than its field',
  unknown_field: 'A field that does not exist at this place',
  missing_field: 'A required field is missing',
  empty_list: 'A list that needs at least one entry is empty',
  invalid_enum: 'A value outside of a closed enumeration',
  invalid_identifier: 'A name against the identifier rule',
  reserved_identifier: 'A name with a leading underscore, reserved for the platform',
  duplicate_name: 'A name that must be unique occurs twice',
  invalid_int64: 'Not an integer within 64 bits',
  negative_value: 'A value that may not be negative',

  // Allow rules.
  domain_empty: 'An empty domain entry',
  domain_scheme: 'A domain entry with a scheme',
  domain_too_few_labels: 'A domain with fewer than two labels',
  domain_wildcard: 'A bare *, a **, or more than one * in a label',
  domain_ipv6_brackets: 'An IPv6 address without brackets, or not an IPv6 address inside of them',
  domain_ipv4: 'Ends in a number without being an IPv4 address in four decimal parts',
  domain_port: 'A port that is not a number from 1 to 65535',
  domain_not_ascii: 'A domain outside of ASCII',
  domain_syntax: 'Not a host name: wrong characters, empty or too long labels, a path, a user name',
  path_not_absolute: 'A path glob that does not start with /',
  path_syntax: 'A path glob with control characters or too long',
  request_format_required: 'Something looks into the body, but the rule has no request_format: application/json',

  // CEL.
  cel_syntax: 'The expression cannot be parsed',
  cel_too_complex: 'The expression is too long, too deep or too costly',
  undeclared_reference: 'A variable or function that does not exist in this phase',
  cel_type: 'An operator or function applied to types it does not take',
  cel_result_type: 'The expression produces another type than its place wants',
  cel_invalid_regex: 'A literal pattern that RE2 does not accept',
  cel_integer_range: 'An integer literal beyond 64 bits',
  secret_key_not_literal: 'secrets is used otherwise than as secrets["<literal>"]',
  secret_key_invalid: 'A secret key against the identifier rule',

  // JSON Schema.
  schema_invalid: 'Not a valid JSON Schema of its draft',
  schema_external_ref: 'A $ref that leaves the schema',
  schema_unsupported: 'A JSON Schema keyword that is not supported',
  schema_too_complex: 'The schema is too large or too deep',
  schema_invalid_regex: 'A pattern that RE2 does not accept',
  schema_unknown_draft: 'A $schema that is not a supported draft',

  // Transforms.
  transform_no_variant: 'A transform without header, path, query, body or auth',
  transform_many_variants: 'A transform with more than one variant',
  transform_direction_response: 'direction: response is not supported',
  applies_to_unknown: 'applies_to names no allow rule of the capability',
  requires_body_not_allowed: 'requires_body where it is not allowed',
  header_name_invalid: 'Not an RFC 7230 token',
  value_required: 'The action needs a value',
  value_not_allowed: 'The action, or the counter source, takes no value',
  key_required: 'The action needs a key',
  key_not_allowed: 'The action takes no key',
  pattern_required: 'replace needs a pattern',
  pattern_not_allowed: 'prefix takes no pattern',
  invalid_regex: 'A pattern that RE2 does not accept',
  unknown_provider: 'Not a known auth provider',

  // Budget counters.
  field_not_allowed_for_source: 'A field that the counter source does not take',
  field_required_for_source: 'A field that the counter source needs',
  sse_event_not_allowed: 'sse_event without framing: sse and requires_body: true',
  terminator_required: 'An SSE counter without a terminator',
  too_many_terminators: 'More than one terminator',
  invalid_status_code: 'Not an exact status code, a range or a family within 100 to 599',
  failure_charge_over_max: 'failure_charge is more than the max of a scope',
  invalid_duration: 'Not a duration such as 5m, 1h or 24h',
  duration_not_positive: 'A ttl that is set must be positive',
  task_max_over_workspace: 'task.max is more than workspace.max',
  task_ttl_over_workspace: 'task.ttl is more than workspace.ttl',
  accept_encoding_identity_required: 'A counter reads response bodies, but no header transform sets Accept-Encoding to "identity"',

  // Warnings of contract 2.7.
  counter_measures_only: 'Warning: the counter enforces nothing',
  schema_on_bodyless_method: 'Warning: GET and HEAD requests cannot pass a rule with request_schema',
  body_rule_without_schema: 'Warning: body fields cannot be type-checked without request_schema',
  ambiguous_rules: 'Warning: two rules admit the same domain, method and path',

  // Further warnings.
  rule_unreachable: 'Warning: an earlier rule always wins',
  transform_never_applies: 'Warning: the transform applies to no rule that exists',
  status_codes_impossible: 'Warning: status codes that this counter can never see',
  unknown_secret: 'Warning: the secret is not known',
  unknown_credential: 'Warning: the credential is not known',
  duplicate_rule_name: 'Warning: two rules of a capability share a name',
  duplicate_transform_name: 'Warning: two transforms share a name and would share an audit key',
  field_has_no_effect: 'Warning: the field changes nothing here',
  domain_port_80: 'Warning: port 80 is dropped as a default port while the rule requires HTTPS',
  domain_broad: 'Warning: the pattern covers every host under a top-level domain',
  path_never_matches: 'Warning: no request path can match the glob',
  header_managed_by_proxy: 'Warning: the proxy owns this header, the transform will fail to apply',
  accept_encoding_partial: 'Warning: the Accept-Encoding transform does not cover every rule, or is changed by a later one',
  task_scope_never_binds: 'Warning: a task ceiling that can never be reached first',
} as const satisfies Record<string, string>;

export type ProblemSlug = keyof typeof problemSlugs;
