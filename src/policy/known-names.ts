/** Names that the caller knows to exist; for a kind that is left out, nothing is said about unknown ones. */
export type KnownNames = { readonly secrets?: ReadonlySet<string>; readonly credentials?: ReadonlySet<string> };
