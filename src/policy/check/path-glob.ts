import type { Reporter } from '../problem.ts';
import type { StringField } from './fields.ts';
import { shown } from './fields.ts';

export const globCharactersMax = 1_024;

/** One entry of `paths` (contract 2.7): starts with `/`; `*` within a segment, `**` across. */
export function checkPathGlob(field: StringField, reporter: Reporter): string | undefined {
  const glob = field.value;
  if (!glob.startsWith('/')) {
    reporter.problem('path_not_absolute', field, `path ${shown(glob)} does not start with /`, glob === '' ? { hint: 'leave paths out to admit any path' } : { hint: `write ${shown(`/${glob}`)}` });
    return undefined;
  }
  if (glob.length > globCharactersMax || /[\u0000-\u0020\u007f]/.test(glob)) {
    reporter.problem('path_syntax', field, glob.length > globCharactersMax ? `a path has at most ${globCharactersMax} characters` : `path ${shown(glob)} holds spaces or control characters`);
    return undefined;
  }
  const never = neverMatches(glob);
  if (never !== undefined) reporter.warning('path_never_matches', field, `no request path matches ${shown(glob)}: ${never}`);
  return glob;
}

/** The proxy decides by raw paths, without their query, and refuses those that two readers could read in two ways. */
function neverMatches(glob: string): string | undefined {
  if (/[?#]/.test(glob)) return 'paths are matched without the query and hold no ? or #';
  if (glob.includes('\\')) return 'requests with \\ in the path are refused';
  if (/[^\x21-\x7e]/.test(glob)) return 'request paths are ASCII: write it percent-encoded';
  if (glob.includes('//')) return 'requests with // in the path are refused';
  // A star may complete an escape.
  if (/%(?![0-9a-fA-F*]|$)|%[0-9a-fA-F](?![0-9a-fA-F*])|%$|%00/.test(glob)) return 'a % begins an escape of two hexadecimal digits, and never that of NUL';
  const segments = glob.replaceAll(/%2e/gi, '.').split(/\/|%2f|%5c/i).map((segment) => segment.replace(/;.*$/s, ''));
  return segments.some((segment) => segment === '.' || segment === '..') ? 'requests with dot segments are refused' : undefined;
}
