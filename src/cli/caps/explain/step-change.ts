import { sinkOf } from '../../../credentials/sinks.ts';
import type { Transform } from '../../../policy/model.ts';
import type { OutgoingRequest } from '../../../transforms/contract.ts';
import type { Step } from './rewrite-steps.ts';
import type { StandIns } from './stand-ins.ts';

/** The part of a request that a transform is about. */
export type Target = { readonly part: 'header' | 'query_parameter'; readonly name: string } | { readonly part: 'path' | 'body' };

/** What a transform makes of its part. A header or a query parameter may stand there several times, or not at all; a body may be absent or not read. */
export type Change = {
  readonly target: Target;
  readonly before: readonly string[];
  /** Undefined where it cannot be shown without a secret's value. */
  readonly after: readonly string[] | undefined;
};

export function changeOf({ transform, before, after, hidden }: Step, standIns: StandIns): Change {
  const target = targetOf(transform);
  const read = (request: OutgoingRequest): readonly string[] => valuesAt(target, request).map(standIns.shown);
  return { target, before: read(before), after: hidden ? undefined : read(after) };
}

function targetOf({ variant }: Transform): Target {
  switch (variant.kind) {
    case 'header': return { part: 'header', name: variant.name.toLowerCase() };
    case 'path': return { part: 'path' };
    case 'query': return { part: 'query_parameter', name: variant.key };
    case 'body': return { part: 'body' };
    case 'auth': {
      const sink = sinkOf(variant.provider);
      return sink.kind === 'header' ? { part: 'header', name: sink.name.toLowerCase() } : { part: 'query_parameter', name: sink.name };
    }
  }
}

/** Raw, as it goes over the wire. */
function valuesAt(target: Target, { path, rawQuery, headers, body }: OutgoingRequest): readonly string[] {
  switch (target.part) {
    case 'header': return headers.filter(([name]) => name.toLowerCase() === target.name).map(([, value]) => value);
    case 'query_parameter': return rawQuery.split('&').filter((pair) => pair !== '' && nameOf(pair) === target.name);
    case 'path': return [path];
    case 'body': return body.kind === 'buffered' ? [body.text] : [];
  }
}

/** Of a query that was accepted: its escapes are complete. */
function nameOf(pair: string): string {
  return decodeURIComponent((pair.split('=', 1)[0] ?? '').replaceAll('+', ' '));
}

export function targetText(target: Target): string {
  switch (target.part) {
    case 'header': return `header ${target.name}`;
    case 'query_parameter': return `query parameter ${target.name}`;
    case 'path':
    case 'body': return target.part;
  }
}

/** `header set`, `path prefix`, `auth github`. */
export function transformKind({ variant }: Transform): string {
  return variant.kind === 'auth' ? `auth ${variant.provider}` : `${variant.kind} ${variant.action}`;
}
