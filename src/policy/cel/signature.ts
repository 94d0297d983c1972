import type { CelType } from './types.ts';
import { listOf, mapOf, types, withInner } from './types.ts';

/** One overload. Capital letters stand for type parameters; they are numbered from 0 and made fresh for each call. */
export type Overload = {
  readonly target: CelType | undefined;
  readonly args: readonly CelType[];
  readonly result: CelType;
  readonly parameters: number;
};

const parameterNames = ['A', 'B'];

/** `(int, int) -> int` or, for methods, `string.(string) -> bool`; types as in messages: `map(A, list(B))`. For our own tables only. */
export function overloadOf(signature: string): Overload {
  const parts = /^(?:(?<target>[^.]+)\.)?\((?<args>.*)\) -> (?<result>.+)$/.exec(signature)?.groups;
  if (parts === undefined) throw new Error(`not a signature: ${signature}`);
  const { target, args = '', result = '' } = parts;
  return {
    target: target === undefined ? undefined : typeOf(target),
    args: splitArguments(args).map(typeOf),
    result: typeOf(result),
    parameters: parameterNames.filter((name) => new RegExp(`\\b${name}\\b`).test(signature)).length,
  };
}

/** The overload with its parameters replaced by new variables. */
export function instantiate(overload: Overload, fresh: () => CelType): Overload {
  if (overload.parameters === 0) return overload;
  const variables = Array.from({ length: overload.parameters }, fresh);
  const replace = (type: CelType): CelType => (type.kind === 'variable' ? (variables[type.id] ?? type) : withInner(type, replace));
  return {
    target: overload.target === undefined ? undefined : replace(overload.target),
    args: overload.args.map(replace),
    result: replace(overload.result),
    parameters: 0,
  };
}

function typeOf(text: string): CelType {
  const parameter = parameterNames.indexOf(text);
  if (parameter >= 0) return { kind: 'variable', id: parameter };
  const plain: Readonly<Record<string, CelType>> = types;
  const known = plain[text];
  if (known !== undefined) return known;
  const generic = /^(?<name>list|map|type)\((?<inner>.*)\)$/.exec(text)?.groups;
  const [first = '', second = ''] = splitArguments(generic?.['inner'] ?? '');
  const name = generic?.['name'];
  if (name === 'list') return listOf(typeOf(first));
  if (name === 'map') return mapOf(typeOf(first), typeOf(second));
  if (name === 'type') return { kind: 'type', of: typeOf(first) };
  throw new Error(`not a type: ${text}`);
}

function splitArguments(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const character = text[at];
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (depth === 0 && (character === ',' || character === undefined)) {
      const part = text.slice(start, at).trim();
      if (part !== '') parts.push(part);
      start = at + 1;
    }
  }
  return parts;
}
