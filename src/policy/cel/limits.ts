/** Bounds of one expression and of one evaluation. The length and nesting bounds keep the library's parser under a tenth of a second. */
export const celLimits = {
  /** UTF-16 units of an expression. */
  sourceCharacters: 4_096,
  /** Brackets of all kinds open at once; the parser's time grows with them. */
  bracketNesting: 64,
  /** Levels of the syntax tree; evaluation recurses as deep. */
  treeDepth: 250,
  /** Problems reported for one expression. */
  problems: 20,
  /** One loop turn, one list element looked at, or `charactersPerStep` of text. Deterministic: the same input stops at the same place. */
  steps: 50_000,
  charactersPerStep: 256,
  /** Backstop for what steps do not see, milliseconds. */
  deadlineMs: 250,
  /** Steps between two looks at the clock. */
  stepsPerClockRead: 8,
  /** UTF-16 units of a string that an expression builds. */
  stringCharacters: 4_194_304,
  /** Levels of a value that is compared or given back. */
  valueDepth: 200,
  /** Object types read from one JSON Schema; what is beyond stays dyn. */
  schemaTypes: 1_000,
} as const;
