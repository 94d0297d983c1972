import type { Authority } from '../kernel/host.ts';
import { readAuthority } from '../kernel/host.ts';
import { pathRefusal, queryRefusal } from '../kernel/raw-target.ts';

/** A request target in parts. `authority` and `scheme` only in absolute form. */
export type Target = { readonly scheme: 'http' | 'https' | undefined; readonly authority: Authority | undefined; readonly path: string; readonly rawQuery: string };

const absoluteForm = /^(https?):\/\/([^/?#\\]*)(.*)$/s;

/**
 * Reads origin form (`/path?query`) and absolute form (`http://host/path`). Nothing is decoded or normalised: what is not plain is refused,
 * so that the policy, the row and the upstream read one text (attack classes: dot segments, `//`, `\`, `#`, `%00`, overlong UTF-8).
 */
export function readTarget(text: string): Target | { readonly refused: string } {
  if (text === '*') return { refused: 'asterisk_target' };
  // Visible ASCII only: Node's parser lets some other bytes through.
  if (!/^[\x21-\x7e]+$/.test(text)) return { refused: 'target_bytes' };
  if (text.includes('#')) return { refused: 'target_fragment' };
  if (text.includes('\\')) return { refused: 'target_backslash' };
  if (text.startsWith('/')) return withPath(undefined, undefined, text);
  const absolute = absoluteForm.exec(text);
  if (absolute === null) return { refused: 'target_form' };
  const authority = readAuthority(absolute[2] ?? '');
  if ('refused' in authority) return { refused: `target_${authority.refused}` };
  const rest = absolute[3] ?? '';
  return withPath(absolute[1] as 'http' | 'https', authority, rest.startsWith('/') ? rest : `/${rest}`);
}

function withPath(scheme: 'http' | 'https' | undefined, authority: Authority | undefined, text: string): Target | { readonly refused: string } {
  const mark = text.indexOf('?');
  const path = mark === -1 ? text : text.slice(0, mark);
  const rawQuery = mark === -1 ? '' : text.slice(mark + 1);
  const refused = pathRefusal(path) ?? queryRefusal(rawQuery);
  return refused === undefined ? { scheme, authority, path, rawQuery } : { refused };
}
