/** Name of a case (what is special about it) to the text of a whole document, with marks (see marks.ts). */
export type Cases = Readonly<Record<string, string>>;

/**
 * Requests to a document and who admits them: `POST https://host/path?query | content type | body` to the id of the rule that wins, or to
 * the deny reason.
 */
export type Decided = { readonly text: string; readonly requests: Readonly<Record<string, string>> };

/** One sentence or table row of contract 2.7. `quote` is short, but enough to find the place. */
export type Sentence = {
  readonly quote: string;
  readonly accepted?: Cases;
  readonly rejected?: Cases;
  readonly decided?: Readonly<Record<string, Decided>>;
  /** Why there is no accepted, or no rejected case. */
  readonly oneSided?: string;
  /** The cases are about the text, and have no meaning as parsed JSON. */
  readonly textOnly?: true;
};

/** One sub-section of the contract. */
export type Area = { readonly section: string; readonly sentences: readonly Sentence[] };
