import { parse } from '@bufbuild/cel';
import type { CelProblem } from './contract.ts';
import type { CelNode } from './node.ts';
import { convertExpression } from './convert-expression.ts';
import { scanSource } from './scan-source.ts';

/** Text to our tree, or what is wrong with it. Never throws. */
export function parseExpression(source: string): { readonly node: CelNode } | { readonly problems: readonly CelProblem[] } {
  const scanned = scanSource(source);
  if ('problem' in scanned) return { problems: [scanned.problem] };
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(scanned.text);
  } catch (error) {
    return { problems: [parseProblem(error, source)] };
  }
  const positions = parsed.sourceInfo?.positions ?? {};
  const { text } = scanned;
  // For operators the library points at the blanks before them.
  const offsetOf = (id: bigint): number => {
    const at = positions[String(id)] ?? 0;
    return at + (/^\s*/.exec(text.slice(at))?.[0].length ?? 0);
  };
  return convertExpression(parsed.expr, offsetOf, text);
}

/** The parser's own error class is not exported; its shape is. */
function parseProblem(error: unknown, source: string): CelProblem {
  if (error instanceof RangeError) return { slug: 'cel_too_complex', message: 'the expression is too deeply nested', offset: 0 };
  const { rawMessage, location } = error as { readonly rawMessage?: unknown; readonly location?: { readonly start?: { readonly offset?: unknown } } };
  const offset = location?.start?.offset;
  if (typeof offset !== 'number') return { slug: 'cel_syntax', message: 'the expression is not valid CEL', offset: 0 };
  if (rawMessage === 'reserved identifier' || rawMessage === 'reserved keyword') {
    const word = /^\w+/.exec(source.slice(offset))?.[0] ?? '';
    return { slug: 'cel_syntax', message: `"${word}" is a reserved word`, hint: `a map key of that name is written ["${word}"]`, offset };
  }
  if (source.slice(offset).trim() === '') return { slug: 'cel_syntax', message: 'the expression ends too early', offset };
  const found = /^(?:[A-Za-z_]\w*|\d[\w.]*|[&|=<>!]{2}|.)/su.exec(source.slice(offset))?.[0] ?? '';
  const operator = /^(?:\|\||&&|[<>=!]=|[-+*/%<>?])$/.test(found);
  if (operator) return { slug: 'cel_syntax', message: `what follows "${found}" is not an expression`, offset };
  const hints: Readonly<Record<string, string>> = { '=': 'equality is written ==', '&': 'and is written &&', '|': 'or is written ||' };
  const hint = hints[found];
  return { slug: 'cel_syntax', message: `unexpected "${found}"`, ...(hint === undefined ? {} : { hint }), offset };
}
