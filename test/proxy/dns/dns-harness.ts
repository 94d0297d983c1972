import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { decode } from 'dns-packet';
import type { DecodedPacket } from 'dns-packet';
import type { AuditEvent } from '../../../src/events/event.ts';
import { createEmitter } from '../../../src/events/emitter.ts';
import type { CompiledPolicy } from '../../../src/policy/compiled-policy.ts';
import { readPolicyValue } from '../../../src/policy/read-policy.ts';
import type { DnsClient } from '../../../src/proxy/dns/answer-query.ts';
import { dnsLimitsDefault, startDnsDoor } from '../../../src/proxy/dns/dns-door.ts';
import type { DnsDoor, DnsDoorDeps, DnsLimits } from '../../../src/proxy/dns/dns-door.ts';
import type { Resolution } from '../../../src/proxy/dns/resolution.ts';
import { createSyntheticAddresses } from '../../../src/proxy/dns/synthetic-addresses.ts';
import type { SyntheticAddresses } from '../../../src/proxy/dns/synthetic-addresses.ts';

export const orgId = '0197a6a0-0000-7000-8000-000000000001';
export const workspaceId = '0197a6a0-0000-7000-8000-000000000002';
export const attribution = { orgId, userId: 'user_1', workspaceId, agentRole: 'coder', agentProvider: 'anthropic' };

export function policyFor(...domains: string[]): CompiledPolicy {
  const { policy, problems } = readPolicyValue([{ name: 'web', type: 'http', allow: [{ domains, methods: ['GET'] }] }]);
  if (policy === undefined) throw new Error(JSON.stringify(problems));
  return policy;
}

export type Harness = {
  readonly door: DnsDoor;
  readonly rows: AuditEvent[];
  readonly faults: unknown[];
  /** Names that left the proxy. */
  readonly resolved: string[];
  readonly addresses: SyntheticAddresses;
};

type Teardown = { teardown: (act: () => unknown) => void };
type Options = Partial<Omit<DnsDoorDeps, 'limits'>> & { readonly limits?: Partial<DnsLimits>; readonly client?: Partial<DnsClient> | undefined };

/** A door for `api.example.com` and `*.wild.example`; upstream answers 93.184.216.34 with a day's TTL. Rows are checked by the catalog. */
export async function startHarness(t: Teardown, options: Options = {}): Promise<Harness> {
  const rows: AuditEvent[] = [];
  const faults: unknown[] = [];
  const resolved: string[] = [];
  let seq = 0;
  const emitter = createEmitter({ mode: 'refuse', nextSeq: () => (seq += 1) });
  const addresses = createSyntheticAddresses();
  const client: DnsClient = { attribution, policy: policyFor('api.example.com', '*.wild.example'), ...options.client };
  const { limits, client: _client, resolve, ...deps } = options;
  const upstream = resolve ?? ((_name, type): Promise<Resolution> => Promise.resolve({ rcode: 'NOERROR', addresses: [type === 'A' ? '93.184.216.34' : '2606:2800:220:1::1'], ttlSeconds: 86_400 }));
  const door = await startDnsDoor({
    host: '127.0.0.1', port: 0, workspaceOf: () => Promise.resolve(client), addresses,
    record: (row) => {
      rows.push(emitter.build(row));
      return Promise.resolve();
    },
    mayConnect: (address) => !address.startsWith('10.') && !address.startsWith('fd'),
    nowMs: () => performance.now(), onFault: (error) => faults.push(error), limits: { ...dnsLimitsDefault, ...limits }, ...deps,
    resolve: (name, type) => {
      resolved.push(name);
      return upstream(name, type);
    },
  });
  t.teardown(() => door.stop(0));
  return { door, rows, faults, resolved, addresses };
}

export const typeNumbers = { A: 1, NS: 2, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28, SRV: 33, SVCB: 64, HTTPS: 65, AXFR: 252, ANY: 255 } as const;

export type QueryParts = {
  readonly id?: number;
  readonly bits?: number;
  readonly counts?: readonly [number, number, number, number];
  /** Labels as bytes in latin1. */
  readonly labels?: readonly string[];
  readonly type?: number;
  readonly class?: number;
  readonly edns?: { readonly payloadBytes: number; readonly version?: number };
  readonly after?: Buffer;
};

export function optRecord({ payloadBytes, version = 0 }: { readonly payloadBytes: number; readonly version?: number }): Buffer {
  return Buffer.from([0, 0, 41, payloadBytes >> 8, payloadBytes & 255, 0, version, 0, 0, 0, 0]);
}

/** A query byte by byte, so that it can be as wrong as a test wants. */
export function rawQuery({ id = 0x1234, bits = 0x0100, counts, labels = ['api', 'example', 'com'], type = 1, class: klass = 1, edns, after }: QueryParts = {}): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(id, 0);
  head.writeUInt16BE(bits, 2);
  for (const [index, count] of (counts ?? [1, 0, 0, edns === undefined ? 0 : 1]).entries()) head.writeUInt16BE(count, 4 + index * 2);
  const name = labels.flatMap((label) => [Buffer.of(label.length), Buffer.from(label, 'latin1')]);
  return Buffer.concat([head, ...name, Buffer.of(0, type >> 8, type & 255, klass >> 8, klass & 255), edns === undefined ? Buffer.alloc(0) : optRecord(edns), after ?? Buffer.alloc(0)]);
}

export function named(name: string, type: keyof typeof typeNumbers = 'A', more: QueryParts = {}): Buffer {
  return rawQuery({ labels: name.split('.'), type: typeNumbers[type], ...more });
}

/**
 * Sends `packet`, then a probe that is always answered, from one socket: undefined when only the probe's answer came. No time is measured,
 * except that an answer after the probe's would be missed, so the probe is repeated a few times.
 */
export async function askUdp(port: number, packet: Buffer): Promise<Buffer | undefined> {
  const socket = createSocket('udp4');
  const probeId = packet.length >= 2 && packet.readUInt16BE(0) === 0xfffe ? 0xfffd : 0xfffe;
  try {
    return await new Promise((resolve, reject) => {
      let probes = 0;
      const probe = (): void => socket.send(rawQuery({ id: probeId, counts: [0, 0, 0, 0] }), port, '127.0.0.1');
      socket.on('error', reject);
      socket.on('message', (answer) => {
        if (answer.readUInt16BE(0) !== probeId) return resolve(answer);
        probes += 1;
        if (probes === 3) resolve(undefined);
        else setTimeout(probe, 10);
      });
      socket.send(packet, port, '127.0.0.1', probe);
    });
  } finally {
    socket.close();
  }
}

export function framed(packet: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(packet.length, 0);
  return Buffer.concat([length, packet]);
}

/** Whole answers in `bytes`. */
export function unframed(bytes: Buffer): Buffer[] {
  const packets: Buffer[] = [];
  let at = 0;
  while (at + 2 <= bytes.length && at + 2 + bytes.readUInt16BE(at) <= bytes.length) {
    const end = at + 2 + bytes.readUInt16BE(at);
    packets.push(bytes.subarray(at + 2, end));
    at = end;
  }
  return packets;
}

export async function openTcp(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket;
}

/** Everything the door sends until it closes. */
export async function allOf(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve).once('end', () => socket.end()));
  return Buffer.concat(chunks);
}

/** Sends frames, closes its side, and gives the answers. */
export async function askTcp(port: number, ...packets: Buffer[]): Promise<Buffer[]> {
  const socket = await openTcp(port);
  socket.end(Buffer.concat(packets.map(framed)));
  return unframed(await allOf(socket));
}

/** By an independent reader. `rcode` with the upper bits of EDNS. */
export function read(packet: Buffer | undefined): DecodedPacket & { readonly rcode: number } {
  if (packet === undefined) throw new Error('no answer');
  const decoded = decode(packet);
  const opt = decoded.additionals?.find((record) => record.type === 'OPT');
  return { ...decoded, rcode: (packet.readUInt16BE(2) & 15) | ((opt?.type === 'OPT' ? opt.extendedRcode : 0) << 4) };
}

/** The addresses of an answer, in order. */
export function addressesIn(packet: Buffer | undefined): unknown[] {
  return (read(packet).answers ?? []).map((record) => ('data' in record ? record.data : undefined));
}
