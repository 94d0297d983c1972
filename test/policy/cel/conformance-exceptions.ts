/** Extensions of CEL that a policy does not have: their cases are refused when an expression is saved, never evaluated to something else. */
export const extensionsNotOffered: ReadonlyMap<string, string> = new Map([
  ['bindings_ext', 'cel.bind is not offered'],
  ['block_ext', 'cel.block is an optimiser’s output, nobody writes it'],
  ['encoders_ext', 'base64 is not offered'],
  ['macros2', 'macros with two variables: the parser does not have them'],
  ['math_ext', 'math.* is not offered'],
  ['network_ext', 'network addresses are not offered'],
  ['optionals', 'optional syntax: the parser does not have it'],
]);

const quoted = 'field names in back-quotes: the parser does not have them; ["name"] does the same';
const container = 'a policy has no container: every name is written in full';
const optional = 'optional values are not offered';
const typeOfType = 'the type of types is written type(type(dyn)), as inside the checker; both say the same';

/** Case to reason. A test fails on a case that fails and is not here, and on one that is here and passes. */
export const evaluationExceptions: ReadonlyMap<string, string> = new Map([
  ...['field_access_slash', 'field_access_dash', 'field_access_dot', 'has_field_slash', 'has_field_dash', 'has_field_dot'].map((name): [string, string] => [
    `fields/quoted_map_fields/${name}`,
    quoted,
  ]),
  ['namespace/namespace/self_eval_container_lookup', container],
  ['namespace/namespace/self_eval_container_lookup_unchecked', container],
]);

export const typeExceptions: ReadonlyMap<string, string> = new Map([
  ['conversions/type/type_denotation', typeOfType],
  ['conversions/type/type_type', typeOfType],
  ['namespace/namespace/self_eval_container_lookup', container],
  ['parse/nest/parens', 'cel-go stops at 32 brackets, we at 64'],
  ...['optional_none', 'optional_none_2', 'optional_dyn_promotion', 'optional_dyn_promotion_2', 'optional_in_ternary'].map((name): [string, string] => [
    `type_deductions/flexible_type_parameter_assignment/${name}`,
    optional,
  ]),
  ['type_deductions/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate', optional],
]);
