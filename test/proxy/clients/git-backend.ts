import { execFile, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];

/** Makes `<root>/demo.git` with one commit that holds `README`. */
export async function makeRepository(root: string, home: string): Promise<void> {
  const work = join(root, 'work');
  await mkdir(work, { recursive: true });
  const env = { PATH: process.env['PATH'] ?? '', HOME: home };
  const git = (...args: string[]): Promise<unknown> => run('git', [...author, ...args], { cwd: work, env });
  await git('init', '-q');
  await writeFile(join(work, 'README'), `through the proxy\n${'line\n'.repeat(5000)}`);
  await git('add', 'README');
  await git('commit', '-qm', 'First');
  await git('clone', '-q', '--bare', work, join(root, 'demo.git'));
}

/** Serves the repositories under `root` at `/v1/` as git's own CGI does. `bodyOf` gives the body that was received. */
export function gitBackend(root: string, bodyOf: (request: IncomingMessage) => Buffer): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '', 'http://local');
    const child = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'] ?? '', GIT_PROJECT_ROOT: root, GIT_HTTP_EXPORT_ALL: '1', REQUEST_METHOD: request.method ?? '', PATH_INFO: url.pathname.slice('/v1'.length), QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '', HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '', GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stdin.on('error', () => undefined);
    child.stdin.end(bodyOf(request));
    child.once('close', () => {
      const answer = Buffer.concat(chunks);
      const end = answer.indexOf('\r\n\r\n');
      const fields = answer.subarray(0, end).toString().split('\r\n').map((line) => line.split(': ', 2) as [string, string]);
      const status = fields.find(([name]) => name === 'Status')?.[1] ?? '200';
      response.writeHead(Number(status.slice(0, 3)), fields.filter(([name]) => name !== 'Status').flat());
      response.end(answer.subarray(end + 4));
    });
  };
}
