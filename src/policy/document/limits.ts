/** Bounds of a capability document. YAML of this size takes the parser about half a second at worst (flow maps, quotes, anchors). */
export const documentLimits = {
  textBytesMax: 256 * 1024,
  depthMax: 64,
  /** Values, counted again for each alias that repeats them. */
  nodesMax: 20_000,
  aliasesMax: 100,
  /** Syntax errors that are reported; one wrong quote can make thousands. */
  syntaxProblemsMax: 20,
} as const;
