import { relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ProblemSlug } from '../../../policy/problem-slugs.ts';
import { problemSlugs } from '../../../policy/problem-slugs.ts';
import type { Problem } from '../../../policy/problem.ts';
import type { CheckedFile } from '../policy-file.ts';

export type SarifTool = { readonly version: string; /** Files that could not be read. */ readonly unreadable: readonly string[] };

const slugs = Object.keys(problemSlugs) as ProblemSlug[];
const warningText = /^Warning: /;

/** Every rule there is: what a result points to by index, and what a viewer shows about it. */
function rules(): unknown[] {
  return slugs.map((slug) => {
    const text = problemSlugs[slug];
    const shown = text.replace(warningText, '').replace(/^./, (first) => first.toUpperCase());
    return { id: slug, shortDescription: { text: `${shown}.` }, defaultConfiguration: { level: warningText.test(text) ? 'warning' : 'error' } };
  });
}

/** Relative to the working directory with `/`, as code scanning wants it; a file elsewhere keeps its whole address. */
export function artifactUri(file: string, workingDir: string): string {
  if (file === '-') return 'stdin';
  const path = relative(workingDir, resolve(workingDir, file));
  const outside = path === '..' || path.startsWith(`..${sep}`) || resolve(path) === path;
  return outside ? pathToFileURL(resolve(workingDir, file)).href : path.split(sep).map(encodeURIComponent).join('/');
}

function result(uri: string, level: 'error' | 'warning', { slug, message, path, line, column, hint }: Problem): unknown {
  return {
    ruleId: slug,
    ruleIndex: slugs.indexOf(slug),
    level,
    message: { text: hint === undefined ? message : `${message}\n${hint}` },
    locations: [{
      physicalLocation: { artifactLocation: { uri }, ...(line === undefined ? {} : { region: { startLine: line, startColumn: column ?? 1 } }) },
      logicalLocations: [{ fullyQualifiedName: path }],
    }],
  };
}

/** SARIF 2.1.0, for code scanning. Columns count UTF-16 units. */
export function sarifReport(files: readonly CheckedFile[], { version, unreadable }: SarifTool, workingDir = process.cwd()): string {
  const log = {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [{
      tool: { driver: { name: 'customhouse', semanticVersion: version, rules: rules() } },
      columnKind: 'utf16CodeUnits',
      invocations: [{ executionSuccessful: unreadable.length === 0, toolExecutionNotifications: unreadable.map((text) => ({ level: 'error', message: { text } })) }],
      results: files.flatMap(({ file, problems, warnings }) => {
        const uri = artifactUri(file, workingDir);
        return [...problems.map((problem) => result(uri, 'error', problem)), ...warnings.map((problem) => result(uri, 'warning', problem))];
      }),
    }],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}
