/** A JSON Schema as data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A map with these fields and no others. */
export function fieldsSchema(description: string, required: readonly string[], properties: Readonly<Record<string, JsonSchema>>, more: JsonSchema = {}): JsonSchema {
  return { description, type: 'object', additionalProperties: false, ...(required.length === 0 ? {} : { required }), properties, ...more };
}

/** The field is there and not empty (`""` counts as left out). */
export function given(...keys: readonly string[]): JsonSchema {
  return { required: keys, properties: Object.fromEntries(keys.map((key) => [key, { minLength: 1, minItems: 1 }])) };
}

/** The field is absent or at its empty value: `""`, `false`, `0`. */
export function absent(...keys: readonly string[]): JsonSchema {
  return { properties: Object.fromEntries(keys.map((key) => [key, { enum: ['', false, 0] }])) };
}

/** When the field has one of these values, then what follows. */
export function when(key: string, values: readonly unknown[], then: JsonSchema, otherwise?: JsonSchema): JsonSchema {
  return { if: { required: [key], properties: { [key]: { enum: values } } }, then, ...(otherwise === undefined ? {} : { else: otherwise }) };
}

export const identifierSchema = (description: string): JsonSchema => ({
  description: `${description}. A letter, then letters, digits, _ or -; 1 to 64 characters`,
  type: 'string',
  pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$',
});

export const celSchema = (description: string): JsonSchema => ({ description: `${description} A CEL expression: text stands in quotes of its own`, type: 'string', maxLength: 4096 });
