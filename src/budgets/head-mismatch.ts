import type { Counter } from '../policy/model.ts';
import type { FlooredReason, ResponseHead } from './contract.ts';

const sseType = 'text/event-stream';

/**
 * Whether a response is of the framing, format and encoding a body counter declares (contract 6.5); the first that differs, in this order.
 * Framing is `sse` for text/event-stream and `single_document` for everything else. Format is the media type itself, without parameters,
 * so `application/problem+json` is another one; a charset that is not UTF-8 is another format too, also on an event stream, which has no
 * other (its data is JSON or not when it is parsed). A repeated header is joined with `,` and so never equal: fail-closed.
 */
export function headMismatch(counter: Pick<Counter, 'framing' | 'format' | 'encoding'>, { headers }: ResponseHead): FlooredReason | undefined {
  const { mediaType, charset } = contentType(headers.get('content-type') ?? '');
  const framing = mediaType === sseType ? 'sse' : 'single_document';
  if (framing !== counter.framing) return 'framing_mismatch';
  if (counter.format !== '') {
    if (framing === 'single_document' && mediaType !== counter.format) return 'format_mismatch';
    if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') return 'format_mismatch';
  }
  if (counter.encoding !== '' && !isIdentity(headers.get('content-encoding'))) return 'encoding_mismatch';
  return undefined;
}

function contentType(header: string): { readonly mediaType: string; readonly charset: string | undefined } {
  const [mediaType = '', ...parameters] = header.toLowerCase().split(';').map((part) => part.trim());
  const charset = parameters.find((parameter) => /^charset\s*=/.test(parameter))?.replace(/^charset\s*=\s*/, '').replace(/^"(.*)"$/, '$1');
  return { mediaType, charset };
}

function isIdentity(header: string | undefined): boolean {
  return (header ?? '').split(',').every((coding) => ['', 'identity'].includes(coding.trim().toLowerCase()));
}
