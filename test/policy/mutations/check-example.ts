import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Test } from 'tap';
import { parse } from 'yaml';
import { editorSchema } from '../../../src/policy/editor-schema/document.ts';
import { readPolicyText } from '../../../src/policy/read-policy.ts';
import type { Mutation } from './mutate.ts';
import { mutationsOf } from './mutate.ts';
import { isRelated } from './relations.ts';
import { pathOf, textOf, treeOf, valueOf } from './tree.ts';

const accepts = new Ajv2020({ strict: false, logger: false }).compile(editorSchema);
/** Messages beyond this many say nothing new. */
const shownMax = 15;

/** Every mutation of an example: still valid, or rejected at the right place; never an exception, never accepted against a rule. */
export function checkExample(t: Test, file: string): void {
  const { wrong, valid, rejected } = judgeExample(file);
  t.same(wrong.slice(0, shownMax), [], `${file}: ${wrong.length} of ${valid + rejected} mutations went wrong`);
  t.ok(rejected > valid && valid > 0, `${valid} still valid, ${rejected} rejected`);
}

/** Capabilities do not know each other, so each is mutated as a document of its own, which is faster. */
export function judgeExample(file: string): { readonly wrong: readonly string[]; readonly valid: number; readonly rejected: number } {
  const wrong: string[] = [];
  let valid = 0;
  let rejected = 0;
  for (const capability of parse(readFileSync(new URL(`../../../examples/caps/${file}`, import.meta.url), 'utf8')) as unknown[]) {
    for (const mutation of mutationsOf(treeOf([capability]))) {
      const found = judge(mutation);
      if (found.valid) valid += 1;
      else rejected += 1;
      if (found.wrong !== undefined) wrong.push(`${pathOf(mutation.steps)} ${mutation.what}: ${found.wrong}`);
    }
  }
  return { wrong, valid, rejected };
}

function judge({ steps, renamedTo, tree, outcome, what }: Mutation): { readonly valid: boolean; readonly wrong?: string } {
  const { text, lines } = textOf(tree);
  let report: ReturnType<typeof readPolicyText>;
  try {
    report = readPolicyText(text);
  } catch (error) {
    return { valid: false, wrong: `threw ${String(error)}` };
  }
  const { policy, problems } = report;
  if (policy !== undefined) {
    if (problems.length > 0) return { valid: true, wrong: 'a policy beside problems' };
    if (outcome === 'rejected') return { valid: true, wrong: 'accepted against a rule' };
    if (what !== 'repeated' && !accepts(valueOf(tree))) return { valid: true, wrong: `accepted, but not by the JSON Schema of caps.yaml: ${accepts.errors?.[0]?.instancePath} ${accepts.errors?.[0]?.message}` };
    return { valid: true };
  }
  if (problems.length === 0) return { valid: false, wrong: 'rejected without a problem' };
  const mutated = [steps, ...(renamedTo === undefined ? [] : [renamedTo])].map(pathOf);
  for (const problem of problems) {
    if (!mutated.some((place) => isRelated(problem, place))) return { valid: false, wrong: `${problem.slug} at ${problem.path}` };
    const range = linesOf(lines, problem.path);
    if (problem.line === undefined || range === undefined || problem.line < range[0] || problem.line > range[1]) return { valid: false, wrong: `${problem.slug} of ${problem.path} (lines ${range?.join(' to ')}) is reported in line ${problem.line}` };
  }
  return { valid: false };
}

/** The lines of a path; a place inside of a text (a schema written as JSON) has the lines of the text. */
function linesOf(lines: ReadonlyMap<string, readonly [number, number]>, path: string): readonly [number, number] | undefined {
  for (let at = path; at !== ''; at = at.replace(/(?:\.[^.[\]]*|\[[^[\]]*\])$/, '')) {
    const found = lines.get(at);
    if (found !== undefined) return found;
    if (at === 'capabilities') return undefined;
  }
  return undefined;
}
