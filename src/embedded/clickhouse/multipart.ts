import { badArguments } from './exception.ts';

/**
 * The fields of a multipart/form-data body, as @clickhouse/client sends query parameters that are too long for a URL.
 * Files (external tables) are not taken.
 */
export function parseMultipart(contentType: string, body: Buffer): Map<string, string> {
  const [, quoted, bare] = /boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) throw badArguments('The multipart body names no boundary.');
  const fields = new Map<string, string>();
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first delimiter stands at the very start, without the line end before it.
  const text = Buffer.concat([Buffer.from('\r\n'), body]);
  let at = text.indexOf(delimiter);
  for (;;) {
    if (at < 0) throw badArguments('The multipart body ends without its closing boundary.');
    const start = at + delimiter.length;
    if (text.toString('latin1', start, start + 2) === '--') return fields;
    const headEnd = text.indexOf('\r\n\r\n', start);
    at = text.indexOf(delimiter, start);
    if (headEnd < 0 || headEnd > at) throw badArguments('A part of the multipart body has no head.');
    const head = text.toString('utf8', start, headEnd);
    const name = /content-disposition:\s*form-data;[^\r\n]*?\bname="([^"\r\n]*)"/i.exec(head)?.[1];
    if (name === undefined) throw badArguments('A part of the multipart body has no name.');
    if (/\bfilename=/i.test(head)) throw badArguments('External tables are not supported.');
    fields.set(name, text.toString('utf8', headEnd + 4, at));
  }
}
