/** A place in the text; both count from 1. */
export type Position = { readonly line: number; readonly column: number };

/**
 * A capability document as read, before any rule of contract 2.7 is applied: what YAML or JSON says, with the place of everything.
 * `path` is the place inside the document (`capabilities[0].allow[1].domains[0]`); `position` is absent for parsed JSON.
 */
export type DocumentNode = MapNode | ListNode | ScalarNode;

export type MapEntry = { readonly key: string; readonly keyPosition: Position | undefined; readonly value: DocumentNode };

export type MapNode = {
  readonly kind: 'map';
  readonly path: string;
  readonly position: Position | undefined;
  readonly entries: readonly MapEntry[];
  /** The value under a key; keys are unique, and none reaches a prototype. */
  get(key: string): DocumentNode | undefined;
};

export type ListNode = {
  readonly kind: 'list';
  readonly path: string;
  readonly position: Position | undefined;
  readonly items: readonly DocumentNode[];
};

export type ScalarNode = {
  readonly kind: 'scalar';
  readonly path: string;
  readonly position: Position | undefined;
  /** A number beyond 2^53 is not exact here: int64 fields read `integer`. */
  readonly value: string | number | boolean | null;
  /** The exact value of an integer literal, whatever its size. */
  readonly integer: bigint | undefined;
  /** Where the character at this offset (UTF-16 units) of a string value stands; the scalar's own position where text was re-flowed or escaped. */
  locate(offset: number): Position | undefined;
};
