import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Options } from 'ajv';
import { createRequire } from 'node:module';
import { compileRe2 } from '../re2.ts';
import { addCanonicalKeywords, comparedNodesMax } from './canonical.ts';
import type { CompiledSchema } from './contract.ts';

export type Draft = CompiledSchema['draft'];

const uris: readonly (readonly [pattern: RegExp, draft: Draft])[] = [
  [/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/, '2020-12'],
  [/^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/, '2019-09'],
  [/^https?:\/\/json-schema\.org\/draft-07\/schema#?$/, '07'],
  [/^https?:\/\/json-schema\.org\/draft-06\/schema#?$/, '06'],
];

/** The draft a `$schema` names; undefined for one that is not supported. */
export function draftOf(uri: unknown): Draft | undefined {
  if (uri === undefined) return '2020-12';
  return typeof uri === 'string' ? uris.find(([pattern]) => pattern.test(uri))?.[1] : undefined;
}

/** The one spelling of a draft's `$schema` that the validator knows; authors also write it with the other scheme or without `#`. */
export function uriOf(draft: Draft): string {
  if (draft === '2020-12' || draft === '2019-09') return `https://json-schema.org/draft/${draft}/schema`;
  return `http://json-schema.org/draft-${draft}/schema#`;
}

/** Steps of one validation: refs that fan out could otherwise visit a small body 2^depth times. */
export const stepsMax = 200_000;
export class StepsExceeded extends Error {}
let steps = 0;
let comparedNodes = 0;
export function resetSteps(): void {
  steps = 0;
  comparedNodes = 0;
}
/** Put into every schema that a $ref points to; not writable by users: the gate refuses the name. */
export const stepKeyword = '$customhouseStep';

/** Ajv caches patterns by the text of the object the engine gives, so that must be the pattern's own. */
function regExp(pattern: string, flags: string): { test: (text: string) => boolean; toString: () => string } {
  const compiled = compileRe2(pattern);
  if ('error' in compiled) throw new Error(compiled.error);
  return { test: (text) => compiled.re2.test(text), toString: () => `/${pattern}/${flags}` };
}
regExp.code = 'regExp';

const options: Options = {
  // Legal schemas hold keywords that Ajv's strict mode refuses.
  strict: false,
  // `required: [toString]` must not be met by a prototype.
  ownProperties: true,
  validateFormats: false,
  allErrors: false,
  addUsedSchema: false,
  logger: false,
  code: { regExp },
};

function countNode(): void {
  comparedNodes += 1;
  if (comparedNodes > comparedNodesMax) throw new StepsExceeded();
}

function withSteps(ajv: Ajv): Ajv {
  addCanonicalKeywords(ajv, countNode);
  ajv.addKeyword({
    keyword: stepKeyword,
    validate: () => {
      steps += 1;
      if (steps > stepsMax) throw new StepsExceeded();
      return true;
    },
    errors: false,
  });
  return ajv;
}

/** An instance keeps something of every schema it compiled. */
const compilationsMax = 1_000;
const instances = new Map<Draft, { readonly ajv: Ajv; left: number }>();

/** The instance for one compilation, shared by many: a fresh one costs twenty times a compilation. */
export function ajvOf(draft: Draft): Ajv {
  const known = instances.get(draft);
  if (known !== undefined && known.left > 0) {
    known.left -= 1;
    return known.ajv;
  }
  const ajv = withSteps(makeAjv(draft));
  instances.set(draft, { ajv, left: compilationsMax - 1 });
  return ajv;
}

function makeAjv(draft: Draft): Ajv {
  if (draft === '2020-12') return new Ajv2020(options);
  if (draft === '2019-09') return new Ajv2019(options);
  const ajv = new Ajv(options);
  if (draft === '06') ajv.addMetaSchema(createRequire(import.meta.url)('ajv/dist/refs/json-schema-draft-06.json') as object);
  return ajv;
}
