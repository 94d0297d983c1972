import type { Document } from 'yaml';
import type { ProblemSlug } from '../problem-slugs.ts';
import type { ProblemExtra, Reporter } from '../problem.ts';
import { badCharacter } from './characters.ts';
import { convertYaml } from './convert-yaml.ts';
import { documentLimits } from './limits.ts';
import type { DocumentNode } from './node.ts';
import { readSyntaxError } from './syntax-errors.ts';
import { readYaml } from './yaml-stream.ts';
import type { Bound } from './yaml-stream.ts';

const root = 'capabilities';

/**
 * YAML 1.2 core (JSON is a part of it) to nodes with positions. Problems are reported, nothing is thrown. A tree is given also beside
 * problems that leave the rest of the document as it was meant, so that everything wrong with it is said at once.
 */
export function parseDocumentText(written: string, reporter: Reporter): DocumentNode | undefined {
  // A byte order mark is no character of the document, and editors do not count it.
  const text = written.startsWith('\ufeff') ? written.slice(1) : written;
  const start = { path: root, position: { line: 1, column: 1 } };
  const bytes = text.length > documentLimits.textBytesMax ? text.length : Buffer.byteLength(text);
  if (bytes > documentLimits.textBytesMax) {
    reporter.problem('document_too_large', start, `the document has more than ${documentLimits.textBytesMax} bytes`);
    return undefined;
  }
  const bad = badCharacter(text);
  if (bad !== undefined) {
    reporter.problem('yaml_syntax', { path: root, position: bad.position }, bad.message);
    return undefined;
  }
  const stream = readYaml(text);
  const report = (slug: ProblemSlug, offset: number, message: string, extra: ProblemExtra = {}): void => {
    reporter.problem(slug, { path: root, position: stream.positionAt(offset) }, message, extra);
  };
  if (stream.second !== undefined) report('multiple_documents', stream.second, 'a capability document is one YAML document, not several');
  if (stream.bound !== undefined) reportBound(stream.bound, report);
  const { document } = stream;
  if (document === undefined || !reportSyntax(document, text, report)) return undefined;
  if (document.contents === null) {
    reporter.problem('document_not_list', start, 'the document is empty', { hint: 'write [] to allow nothing' });
    return undefined;
  }
  return convertYaml({ text, document, positionAt: stream.positionAt }, root, reporter);
}

type Report = (slug: ProblemSlug, offset: number, message: string, extra?: ProblemExtra) => void;

function reportBound({ slug, offset }: Bound, report: Report): void {
  report(slug, offset, slug === 'document_too_deep' ? `lists and maps are nested deeper than ${documentLimits.depthMax} levels` : `the document has more than ${documentLimits.nodesMax} values`);
}

/** True when the values still are what the author meant. */
function reportSyntax(document: Document.Parsed, text: string, report: Report): boolean {
  let sound = true;
  for (const error of document.errors.slice(0, documentLimits.syntaxProblemsMax)) {
    const { message, hint, local } = readSyntaxError(error, text);
    sound &&= local;
    report('yaml_syntax', error.pos[0], message, hint === undefined ? {} : { hint });
  }
  return sound && document.errors.length <= documentLimits.syntaxProblemsMax;
}
