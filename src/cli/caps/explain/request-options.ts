import { Secret } from '../../../kernel/secret.ts';
import type { HeaderField } from '../../../transforms/contract.ts';
import { readSource } from '../source-file.ts';
import { UsageError } from '../usage.ts';
import type { DescribedRequest, DescribedWorkspace } from './described-request.ts';
import { bodyBytesMax, headerComplaint, methodComplaint, someWorkspace, urlComplaint } from './described-request.ts';

/** A request as options of the command line. */
export type RequestOptions = {
  readonly method: string;
  readonly url: string;
  readonly header?: readonly string[];
  /** Text, or `@FILE`, or `@-`. */
  readonly body?: string;
  readonly workspace?: readonly string[];
  readonly task?: string;
};

/** The described request, or UsageError where the options describe none. */
export async function requestOf({ method, url, header = [], body = '', workspace = [], task = '' }: RequestOptions): Promise<DescribedRequest> {
  const wrongMethod = methodComplaint(method);
  if (wrongMethod !== undefined) throw new UsageError(`--method: ${wrongMethod}`);
  const wrongUrl = urlComplaint(url);
  if (wrongUrl !== undefined) throw new UsageError(`--url ${wrongUrl}`);
  return { method, url, headers: header.map(headerOf), body: await bodyOf(body), workspace: workspaceOf(workspace), taskId: task };
}

function headerOf(text: string): HeaderField {
  const colon = text.indexOf(':');
  if (colon === -1) throw new UsageError('--header is NAME:VALUE, with a colon');
  // Blanks around a value are no part of it (RFC 9112, 5).
  const field = [text.slice(0, colon), text.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')] as const;
  const complaint = headerComplaint(field);
  if (complaint !== undefined) throw new UsageError(`--header: ${complaint}`);
  return field;
}

async function bodyOf(text: string): Promise<Uint8Array> {
  if (!text.startsWith('@')) return Buffer.from(text);
  const { bytes } = await readSource(text.slice(1), { bytesMax: bodyBytesMax });
  if (bytes.length > bodyBytesMax) throw new UsageError(`--body: more than ${bodyBytesMax} bytes, which no rule looks into`);
  return bytes;
}

const workspaceKeys: Readonly<Record<string, keyof DescribedWorkspace>> = { id: 'id', org_id: 'orgId', role: 'role', environment: 'environment' };

function workspaceOf(pairs: readonly string[]): DescribedWorkspace {
  return pairs.reduce<DescribedWorkspace>((workspace, pair) => {
    const [name, value] = nameAndValue(pair, '--workspace');
    const key = Object.hasOwn(workspaceKeys, name) ? workspaceKeys[name] : undefined;
    if (key === undefined) throw new UsageError(`--workspace: there is no ${name}; known are ${Object.keys(workspaceKeys).join(', ')}`);
    return { ...workspace, [key]: value };
  }, someWorkspace);
}

function nameAndValue(pair: string, option: string): readonly [name: string, value: string] {
  const equals = pair.indexOf('=');
  // What is given may be a secret: it is not repeated.
  if (equals < 1) throw new UsageError(`${option} is NAME=VALUE, with an equals sign`);
  return [pair.slice(0, equals), pair.slice(equals + 1)];
}

/** `NAME=VALUE` or `NAME=@FILE`; a newline at the end of a file is no part of the secret. */
export async function secretsOf(pairs: readonly string[]): Promise<ReadonlyMap<string, Secret>> {
  const secrets = new Map<string, Secret>();
  for (const pair of pairs) {
    const [name, value] = nameAndValue(pair, '--secret');
    if (secrets.has(name)) throw new UsageError(`--secret: ${name} is given twice`);
    const text = value.startsWith('@') ? Buffer.from((await readSource(value.slice(1))).bytes).toString('utf8').replace(/\r?\n$/, '') : value;
    secrets.set(name, new Secret(text));
  }
  return secrets;
}

/** Refuses a command that would read standard input more than once. */
export function onlyOneStdin(names: readonly (string | undefined)[]): void {
  if (names.filter((name) => name === '-').length > 1) throw new UsageError('standard input (-) can be read once only');
}
