import type { DocumentNode } from '../document/node.ts';
import type { Capability, Policy } from '../model.ts';
import type { Reporter } from '../problem.ts';
import { checkCapability } from './capability.ts';
import { createCheckBudget } from './check-budget.ts';
import { described } from './fields.ts';

/** A whole document (contract 2.7): a list of capabilities; an empty one allows nothing. Undefined when anything in it is wrong. */
export function checkDocument(root: DocumentNode, reporter: Reporter): Policy | undefined {
  if (root.kind !== 'list') {
    const empty = root.kind === 'scalar' && root.value === null;
    reporter.problem('document_not_list', root, empty ? 'the document is empty' : `the document must be a list of capabilities, not ${described(root)}`, { hint: empty ? 'write [] to allow nothing' : 'start each capability with "- name:"' });
    return undefined;
  }
  const context = { names: new Map<string, DocumentNode>(), budget: createCheckBudget() };
  const capabilities = root.items.map((item) => checkCapability(item, context, reporter));
  const whole = capabilities.filter((capability): capability is Capability => capability !== undefined);
  return whole.length === root.items.length && reporter.problems.length === 0 ? Object.freeze({ capabilities: Object.freeze(whole) }) : undefined;
}
