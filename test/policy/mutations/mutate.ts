import type { Step, Tree } from './tree.ts';
import { placesIn, replaceAt, stringOf, treeOf } from './tree.ts';

/** What must come of a mutation: `rejected` wherever a rule of the contract says so without knowing the rest of the document. */
export type Outcome = 'rejected' | 'either';

/** `renamedTo` is the place under its new name. */
export type Mutation = { readonly what: string; readonly steps: readonly Step[]; readonly renamedTo?: readonly Step[]; readonly tree: Tree; readonly outcome: Outcome };

const scalar = (value: unknown): Tree => ({ kind: 'scalar', json: JSON.stringify(value) });
const others: readonly (readonly [name: string, tree: Tree])[] = [
  ['a string', scalar('text')], ['a number', scalar(7)], ['a fraction', scalar(1.5)], ['a boolean', scalar(true)], ['null', scalar(null)],
  ['a list', { kind: 'list', items: [] }], ['a map', { kind: 'map', entries: [] }],
];
const closed = new Set(['type', 'request_format', 'action', 'source', 'framing', 'format', 'encoding', 'accumulator', 'provider', 'direction']);
const expressions = new Set(['expr', 'value', 'terminal_cel']);
const kindOf = (tree: Tree) => (tree.kind !== 'scalar' ? tree.kind : typeof JSON.parse(tree.json));

/** All mutations of a document, one element each. */
export function* mutationsOf(document: Tree): Generator<Mutation> {
  for (const { steps, tree } of placesIn(document)) {
    const last = steps.at(-1);
    // Inside of a JSON Schema other rules hold than those of the contract's tables.
    const schemaAt = steps.indexOf('request_schema');
    const inSchema = schemaAt !== -1 && steps.length > schemaAt + 1;
    const isSchema = last === 'request_schema';
    const firm: Outcome = inSchema ? 'either' : 'rejected';
    const made = (what: string, outcome: Outcome, replace: (key: string, value: Tree) => readonly (readonly [string, Tree])[]): Mutation => ({ what, steps, outcome, tree: replaceAt(document, steps, replace) });
    const put = (what: string, outcome: Outcome, by: Tree) => made(what, outcome, (key) => [[key, by]]);

    yield made('removed', 'either', () => []);
    for (const [name, other] of others) {
      if (kindOf(other) !== kindOf(tree) || name === 'null' || name === 'a fraction') yield put(`replaced by ${name}`, isSchema && name !== 'null' ? 'either' : firm, other);
    }
    if (typeof last === 'string') {
      for (const name of [`${last}x`, last.charAt(0).toUpperCase() + last.slice(1)]) {
        yield { ...made(`renamed to ${name}`, firm, (_key, value) => [[name, value]]), renamedTo: [...steps.slice(0, -1), name] };
      }
      yield made('repeated', 'rejected', (key, value) => [[key, value], [key, value]]);
    } else yield made('repeated', 'either', (key, value) => [[key, value], [key, value]]);

    const text = stringOf(tree);
    if (text !== undefined) {
      yield put('emptied', 'either', scalar(''));
      const changed = [text.toUpperCase(), text.toLowerCase()].find((candidate) => candidate !== text);
      const enumerated = !inSchema && ((typeof last === 'string' && closed.has(last)) || steps.at(-2) === 'methods');
      if (changed !== undefined) yield put('in another case', enumerated ? 'rejected' : 'either', scalar(changed));
      if (!inSchema && typeof last === 'string' && expressions.has(last)) yield* brokenExpressions(text, put);
      if (!inSchema && last === 'ttl') for (const ttl of ['1ms', '10000h']) yield put(`made ${ttl}`, 'either', scalar(ttl));
    } else if (kindOf(tree) === 'number') {
      const number = Number((tree as { readonly json: string }).json);
      yield put('negated', firm, scalar(-number));
      for (const other of [0, 1, number * 1000]) yield put(`made ${other}`, 'either', scalar(other));
    } else if (kindOf(tree) === 'boolean') yield put('inverted', 'either', scalar((tree as { readonly json: string }).json === 'false'));
    if (!inSchema && tree.kind === 'map') yield* furtherFields(tree, put);
  }
}

const further = { value: '"a"', key: 'a', pattern: 'a', requires_body: true, framing: 'sse', sse_event: 'a', terminal_sentinel: 'a', failure_charge: 1, max: 1, methods: ['GET'], transforms: [] } as const;

/** A field of the contract at a place that has none, be it right there or not. */
function* furtherFields(tree: Extract<Tree, { readonly kind: 'map' }>, put: (what: string, outcome: Outcome, by: Tree) => Mutation): Generator<Mutation> {
  for (const [name, value] of Object.entries(further)) {
    if (!tree.entries.some(([key]) => key === name)) yield put(`with ${name}`, 'either', { kind: 'map', entries: [...tree.entries, [name, treeOf(value)]] });
  }
}

function* brokenExpressions(text: string, put: (what: string, outcome: Outcome, by: Tree) => Mutation): Generator<Mutation> {
  for (let at = 0; at < text.length; at += 1) yield put(`without the character at ${at}`, 'either', scalar(text.slice(0, at) + text.slice(at + 1)));
  yield put('with an unknown variable', 'rejected', scalar(`[${text}, nowhere][0]`));
  yield put('with an unknown variable behind ||', 'rejected', scalar(`(true || nowhere) ? (${text}) : (${text})`));
  yield put('unbalanced', 'rejected', scalar(`(${text}`));
  yield put('of another type', 'rejected', scalar(`[${text}]`));
}
