import { createHash, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../kernel/errors.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();

/**
 * Refuses whoever does not show the service token of the proxies (`Authorization: Bearer …`). Digests are compared, in constant time:
 * neither the place of the first wrong character nor the length of the token can be told from the answer's time. Throws `unauthenticated`.
 */
export function createServiceTokenCheck(token: string): (authorization: string | undefined) => void {
  const wanted = digest(token);
  return (authorization) => {
    const shown = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1] ?? '';
    if (!timingSafeEqual(digest(shown), wanted)) throw new AppError('unauthenticated', 'the service token is missing or wrong');
  };
}
