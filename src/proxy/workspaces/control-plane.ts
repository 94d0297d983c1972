import { Pool } from 'undici';
import { parseJson } from '../../kernel/json.ts';
import { Secret } from '../../kernel/secret.ts';
import type { LoadWorkspace } from './contract.ts';
import { UnreadableAnswerError, isObject, readWorkspaceAnswer, text } from './workspace-answer.ts';

/** The control plane could not be asked, or did not answer the question. The message holds no part of an answer. */
export class ControlPlaneError extends Error {
  constructor(what: string, options?: { cause: unknown }) {
    super(`internal API: ${what}`, options);
    this.name = 'ControlPlaneError';
  }
}

/** A credential of an org with its durable secret, for the mint broker. */
export type CredentialAnswer = {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly kind: string;
  readonly scopes: readonly string[];
  readonly providerConfig: Readonly<Record<string, unknown>>;
  readonly status: string;
  /** Undefined while the authorization-code flow has not been completed. */
  readonly material: Secret | undefined;
};

export type ControlPlane = {
  readonly loadWorkspace: LoadWorkspace;
  /** Undefined when the org has none of that name. Rejects when that could not be asked. */
  readonly loadCredential: (orgId: string, name: string) => Promise<CredentialAnswer | undefined>;
  readonly close: () => Promise<void>;
};

export type ControlPlaneOptions = {
  readonly url: string;
  readonly token: string;
  /** For a whole question and its answer. */
  readonly timeoutMs?: number;
  readonly answerBytesMax?: number;
  readonly connectionsMax?: number;
};

type Reply = { readonly status: number; readonly etag: string | undefined; readonly body: unknown };

/** What a document of 256 KiB, as many event schemas and a hundred secrets take as JSON, a few times over. */
const answerBytesDefault = 16 * 1_048_576;

function etagOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

/** Asks the internal API (src/api/internal) over kept-alive connections. Every question has a bound in time, every answer one in bytes. */
export function createControlPlane({ url, token, timeoutMs = 5_000, answerBytesMax = answerBytesDefault, connectionsMax = 16 }: ControlPlaneOptions): ControlPlane {
  const { origin, pathname } = new URL(url);
  const base = pathname.replace(/\/$/, '');
  const pool = new Pool(origin, { connections: connectionsMax, pipelining: 1, connect: { timeout: timeoutMs }, headersTimeout: timeoutMs, bodyTimeout: timeoutMs, keepAliveTimeout: 15_000, maxResponseSize: answerBytesMax });

  async function ask(path: string, orgId: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    try {
      const response = await pool.request({
        method: 'GET',
        path: `${base}${path}?org_id=${encodeURIComponent(orgId)}`,
        headers: { ...headers, authorization: `Bearer ${token}`, accept: 'application/json' },
        signal: AbortSignal.timeout(timeoutMs),
      });
      const answer = await response.body.text();
      const isJson = /^application\/json\b/.test(String(response.headers['content-type'] ?? ''));
      return { status: response.statusCode, etag: etagOf(response.headers.etag), body: isJson ? parsed(answer) : undefined };
    } catch (cause) {
      if (cause instanceof ControlPlaneError) throw cause;
      throw new ControlPlaneError('does not answer', { cause });
    }
  }

  /** Codes of our own API: another 404 (a wrong address, a proxy in between) must not be taken for "there is no such workspace". */
  function isCode({ body }: Reply, code: string): boolean {
    return isObject(body) && isObject(body['error']) && body['error']['code'] === code;
  }

  return {
    async loadWorkspace(workspace, version) {
      const { id, orgId } = workspace;
      const reply = await ask(`/internal/workspaces/${encodeURIComponent(id)}`, orgId, version === undefined ? {} : { 'if-none-match': `"${version}"` });
      if (reply.status === 304 && version !== undefined && reply.etag === `"${version}"`) return { kind: 'unchanged' };
      if (reply.status === 404 && isCode(reply, 'workspace_not_found')) return { kind: 'unknown' };
      if (reply.status !== 200) throw new ControlPlaneError(`answered ${reply.status}`);
      return { kind: 'found', answer: readWorkspaceAnswer(reply.body, { id, orgId }) };
    },
    async loadCredential(orgId, name) {
      const reply = await ask(`/internal/credentials/${encodeURIComponent(name)}`, orgId);
      if (reply.status === 404 && isCode(reply, 'not_found')) return undefined;
      if (reply.status !== 200) throw new ControlPlaneError(`answered ${reply.status}`);
      const { body } = reply;
      if (!isObject(body) || body['org_id'] !== orgId || body['name'] !== name) throw new UnreadableAnswerError('the credential');
      const { scopes, provider_config: providerConfig, material } = body;
      if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === 'string')) throw new UnreadableAnswerError('scopes');
      if (!isObject(providerConfig)) throw new UnreadableAnswerError('provider_config');
      if (material !== null && typeof material !== 'string') throw new UnreadableAnswerError('material');
      return {
        id: text(body, 'id'), name, provider: text(body, 'provider'), kind: text(body, 'kind'), status: text(body, 'status'),
        scopes, providerConfig, material: material === null ? undefined : new Secret(material),
      };
    },
    close: () => pool.destroy(),
  };
}

/** The parser's own error would quote the text. */
function parsed(answer: string): unknown {
  try {
    return parseJson(answer);
  } catch {
    throw new ControlPlaneError('answered what is not JSON');
  }
}
