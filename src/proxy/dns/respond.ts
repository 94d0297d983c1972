import type { AnswerQuery } from './answer-query.ts';
import type { ClientBounds } from './client-bounds.ts';
import { readQuery } from './read-query.ts';
import { rcodes } from './wire.ts';
import { udpAnswerBytesMax, writeAnswer, writeFailure } from './write-answer.ts';

/** One packet to the bytes that answer it; undefined where nothing is sent. Never rejects. */
export type Respond = (packet: Buffer, clientAddress: string, transport: 'udp' | 'tcp') => Promise<Buffer | undefined>;

const tcpAnswerBytesMax = 65_535;

/**
 * Over the bounds, a datagram is dropped, because its source address may be forged and the victim's; on a connection the client is real and
 * is told.
 */
export function createRespond(answerQuery: AnswerQuery, bounds: ClientBounds, onFault: (error: unknown) => void): Respond {
  async function respond(packet: Buffer, clientAddress: string, transport: 'udp' | 'tcp'): Promise<Buffer | undefined> {
    const read = readQuery(packet);
    if (read.kind === 'drop') return undefined;
    const entered = bounds.enter(clientAddress);
    if (entered === undefined) {
      if (transport === 'udp') return undefined;
      return writeFailure(read.kind === 'failed' ? { ...read, rcode: rcodes.refused } : { ...read.query, rcode: rcodes.refused, opcode: 0 });
    }
    try {
      if (read.kind === 'failed') return writeFailure(read);
      const answer = await answerQuery(read.query, clientAddress);
      return writeAnswer(read.query, answer, transport === 'udp' ? udpAnswerBytesMax(read.query, packet.length) : tcpAnswerBytesMax);
    } finally {
      entered.done();
    }
  }
  return (packet, clientAddress, transport) => respond(packet, clientAddress, transport).catch((error: unknown) => {
    onFault(error);
    return undefined;
  });
}
