import { checkDocument } from './check/check-document.ts';
import { compilePolicy } from './compile/compile-policy.ts';
import type { CompiledPolicy } from './compiled-policy.ts';
import { documentFromValue } from './document/from-value.ts';
import type { DocumentNode } from './document/node.ts';
import { parseDocumentText } from './document/parse-text.ts';
import type { KnownNames } from './known-names.ts';
import type { Problem, Reporter } from './problem.ts';
import { createReporter } from './reporter.ts';
import { reportWarnings } from './warn/warnings.ts';

/** Problems and warnings are in the order of the text. The policy is there exactly when there is no problem. */
export type PolicyReport = { readonly policy: CompiledPolicy | undefined; readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] };

type Options = { readonly known?: KnownNames };

/** A `caps.yaml` text (YAML 1.2 or JSON) to a policy or everything that is wrong with it (contract 2.7). Never throws for what a text says. */
export function readPolicyText(text: string, options: Options = {}): PolicyReport {
  const reporter = createReporter();
  return reported(parseDocumentText(text, reporter), reporter, options);
}

/** The same for a document that is parsed already, as in an API body; its problems have paths but no lines. */
export function readPolicyValue(value: unknown, options: Options = {}): PolicyReport {
  const reporter = createReporter();
  return reported(documentFromValue(value, reporter), reporter, options);
}

function reported(root: DocumentNode | undefined, reporter: Reporter, { known }: Options): PolicyReport {
  const checked = root === undefined ? undefined : checkDocument(root, reporter);
  if (checked !== undefined) reportWarnings(checked, reporter, known);
  const policy = checked === undefined || reporter.problems.length > 0 ? undefined : compilePolicy(checked);
  return { policy, problems: reporter.problems, warnings: reporter.warnings };
}
