import type { Shape } from '../../../policy/check/fields.ts';
import { described, openFields, shown } from '../../../policy/check/fields.ts';
import type { DocumentNode } from '../../../policy/document/node.ts';
import { parseDocumentText } from '../../../policy/document/parse-text.ts';
import type { Problem, Reporter } from '../../../policy/problem.ts';
import { createReporter } from '../../../policy/reporter.ts';
import type { PolicyCase } from './case-model.ts';
import { readExpectation } from './read-expectation.ts';
import { readRequest } from './read-request.ts';

export type ReadCases = { readonly cases: readonly PolicyCase[]; readonly problems: readonly Problem[] };

const shape: Shape = { name: 'string', request: 'map', expect: 'map' };

/**
 * A table of requests and what must become of them: a YAML (or JSON) list of `{name, request, expect}`, within the bounds of a policy.
 * Everything that is wrong with it is told at once, with its place; the cases are to be run only when nothing is.
 */
export function readCases(text: string): ReadCases {
  const reporter = createReporter();
  const root = parseDocumentText(text, reporter);
  const cases = root === undefined ? [] : listOf(root, reporter);
  return { cases, problems: reporter.problems.map(ofCases) };
}

function listOf(root: DocumentNode, reporter: Reporter): readonly PolicyCase[] {
  if (root.kind !== 'list') {
    reporter.problem('wrong_type', root, `a table of cases must be a list, not ${described(root)}`);
    return [];
  }
  if (root.items.length === 0) reporter.problem('empty_list', root, 'a table without cases tests nothing');
  const names = new Set<string>();
  return root.items.flatMap((item) => readCase(item, names, reporter));
}

function readCase(node: DocumentNode, names: Set<string>, reporter: Reporter): readonly PolicyCase[] {
  const fields = openFields(node, 'a case', shape, reporter);
  if (fields === undefined) return [];
  fields.needs('name', 'request', 'expect');
  const name = fields.string('name');
  if (name?.value === '') reporter.problem('wrong_type', name, 'a case needs a name that says what it is about');
  else if (name !== undefined && names.has(name.value)) reporter.problem('duplicate_name', name, `two cases have the name ${shown(name.value)}`);
  names.add(name?.value ?? '');
  const requestNode = fields.map('request');
  const expectNode = fields.map('expect');
  const request = requestNode === undefined ? undefined : readRequest(requestNode, reporter);
  const expect = expectNode === undefined ? undefined : readExpectation(expectNode, reporter);
  return name === undefined || request === undefined || expect === undefined ? [] : [{ name: name.value, position: node.position, request, expect }];
}

/** The reader of documents is made for policies, and says so in two of its problems. */
function ofCases(problem: Problem): Problem {
  const path = problem.path.replace(/^capabilities/, 'cases');
  if (problem.slug === 'multiple_documents') return { ...problem, path, message: 'a table of cases is one YAML document, not several' };
  if (problem.slug !== 'document_not_list') return { ...problem, path };
  const { slug, line, column } = problem;
  return { slug, path, message: 'a table without cases tests nothing', ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
}
