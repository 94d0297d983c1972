import { spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startProgram } from './child.ts';
import { accepts, freePort } from './free-port.ts';
import type { ProxyFiles, StartedProxy } from './job.ts';
import { host } from './scenarios.ts';

/** A folder for a program that may give up its rights at the start, and has to find it then. */
async function folder(dir: string, name: string): Promise<string> {
  const path = join(dir, name);
  await mkdir(path, { recursive: true });
  await chmod(dir, 0o755);
  await chmod(path, 0o777);
  return path;
}

/** Squid with one worker: the rule as ACLs, an access log, and TLS bumped as ours is. Nothing is cached. */
export async function startSquid({ dir, ports, certPath, keyPath, upstreamCa }: ProxyFiles): Promise<StartedProxy> {
  const home = await folder(dir, 'squid');
  const port = await freePort();
  const pem = join(home, 'ca.pem');
  await writeFile(pem, await readFile(certPath, 'utf8') + await readFile(keyPath, 'utf8'), { mode: 0o644 });
  await copyFile(upstreamCa, join(home, 'upstream-ca.pem'));
  const helper = ['/usr/lib/squid/security_file_certgen', '/usr/lib64/squid/security_file_certgen'].find((path) => spawnSync('test', ['-x', path]).status === 0);
  const canBump = helper !== undefined && spawnSync(helper, ['-c', '-s', join(home, 'certs'), '-M', '4MB']).status === 0;
  if (canBump) spawnSync('chmod', ['-R', 'a+rwX', join(home, 'certs')]);
  const config = `
http_port ${host}:${port}${canBump ? ` ssl-bump tls-cert=${pem} tls-key=${pem} generate-host-certificates=on dynamic_cert_mem_cache_size=4MB` : ''}
${canBump ? `sslcrtd_program ${helper} -s ${join(home, 'certs')} -M 4MB\nsslcrtd_children 1 startup=1\nssl_bump bump all\ntls_outgoing_options cafile=${join(home, 'upstream-ca.pem')}` : ''}
acl one_host dst ${host}
acl its_ports port ${ports.http} ${ports.https}
acl methods method GET POST CONNECT
http_access allow one_host its_ports methods
http_access deny all
access_log stdio:${join(home, 'access.log')} combined
cache_log /dev/null
cache deny all
cache_mem 8 MB
pid_filename none
pinger_enable off
coredump_dir ${home}
max_filedescriptors 16384
shutdown_lifetime 0 seconds
`;
  await writeFile(join(home, 'squid.conf'), config);
  const { pid, stop } = await startProgram('squid', ['-N', '-f', join(home, 'squid.conf')], () => accepts(port));
  return { pid, stop, port, token: 'none' };
}

/** Its filter knows hosts and no methods; what is not filtered is logged as a connection. */
export async function startTinyproxy({ dir, ports }: ProxyFiles): Promise<StartedProxy> {
  const home = await folder(dir, 'tinyproxy');
  const port = await freePort();
  await writeFile(join(home, 'filter'), `^${host.replaceAll('.', '\\.')}\n`);
  await writeFile(join(home, 'tinyproxy.conf'), `
Port ${port}
Listen ${host}
Timeout 600
LogFile "${join(home, 'access.log')}"
LogLevel Connect
MaxClients 2000
Allow ${host}
Filter "${join(home, 'filter')}"
FilterDefaultDeny Yes
ConnectPort ${ports.https}
`);
  const { pid, stop } = await startProgram('tinyproxy', ['-d', '-c', join(home, 'tinyproxy.conf')], () => accepts(port));
  return { pid, stop, port, token: 'none', closes: true };
}

/** An addon that makes the same check and writes a line for each request. */
export async function startMitmdump({ dir, certPath, keyPath }: ProxyFiles): Promise<StartedProxy> {
  const home = await folder(dir, 'mitmproxy');
  const port = await freePort();
  await writeFile(join(home, 'mitmproxy-ca.pem'), await readFile(keyPath, 'utf8') + await readFile(certPath, 'utf8'));
  await writeFile(join(home, 'check.py'), `
import json, time
from mitmproxy import http

log = open(${JSON.stringify(join(home, 'access.log'))}, "a", buffering=1)

class Check:
    def request(self, flow):
        if flow.request.host != ${JSON.stringify(host)} or flow.request.method not in ("GET", "POST"):
            flow.response = http.Response.make(403, b"denied")

    def responseheaders(self, flow):
        flow.response.stream = "event-stream" in flow.response.headers.get("content-type", "")

    def response(self, flow):
        log.write(json.dumps({"at": time.time(), "method": flow.request.method, "host": flow.request.host, "path": flow.request.path, "status": flow.response.status_code}) + "\\n")

addons = [Check()]
`);
  const args = ['-q', '--listen-host', host, '--listen-port', String(port), '--set', `confdir=${home}`, '--ssl-insecure', '-s', join(home, 'check.py')];
  const { pid, stop } = await startProgram('mitmdump', args, () => accepts(port));
  return { pid, stop, port, token: 'none' };
}
