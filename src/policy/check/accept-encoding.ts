import { compileCel } from '../expression/compile-cel.ts';
import type { DocumentNode, MapNode } from '../document/node.ts';
import type { Reporter } from '../problem.ts';

/**
 * The Accept-Encoding rule (contract 2.7): a capability with a counter that reads response bodies needs a header transform that sets
 * `Accept-Encoding` to the literal `identity`. Looks at the document as written, so that a mistake elsewhere in the transform or in the
 * counter is reported once, as what it is.
 */
export function checkAcceptEncoding(capability: MapNode, reporter: Reporter): void {
  const budgets = capability.get('budgets');
  const reader = itemsOf(budgets?.kind === 'map' ? budgets.get('counters') : undefined).find(readsBodies);
  if (reader === undefined) return;
  const transforms = itemsOf(capability.get('transforms'));
  const setters = transforms.filter(setsIdentity);
  if (setters.length === 0) {
    reporter.problem('accept_encoding_identity_required', reader, 'this counter reads response bodies, which a server may compress', {
      hint: `add to transforms: {header: {name: Accept-Encoding, action: set, value: '"identity"'}}`,
    });
    return;
  }
  const whole = setters.find((transform) => itemsOf(transform.get('applies_to')).length === 0);
  if (whole === undefined) reporter.warning('accept_encoding_partial', setters[0] ?? reader, 'this transform does not cover every rule: responses of the others may be compressed, and are charged failure_charge');
  const last = transforms.findLastIndex((transform) => headerNamed(transform, 'accept-encoding') !== undefined);
  const changed = transforms[last];
  if (changed !== undefined && !setsIdentity(changed)) reporter.warning('accept_encoding_partial', changed, 'this transform changes Accept-Encoding after it was set to identity');
}

function itemsOf(node: DocumentNode | undefined): readonly MapNode[] {
  return node?.kind === 'list' ? node.items.filter((item) => item.kind === 'map') : [];
}

function scalar(node: MapNode, key: string): unknown {
  const value = node.get(key);
  return value?.kind === 'scalar' ? value.value : undefined;
}

function readsBodies(counter: MapNode): boolean {
  const source = scalar(counter, 'source');
  return source === 'response.bytes' || (source === 'response' && scalar(counter, 'requires_body') === true);
}

function headerNamed(transform: MapNode, name: string): MapNode | undefined {
  const header = transform.get('header');
  if (header?.kind !== 'map') return undefined;
  const written = scalar(header, 'name');
  return typeof written === 'string' && written.toLowerCase() === name ? header : undefined;
}

function setsIdentity(transform: MapNode): boolean {
  const header = headerNamed(transform, 'accept-encoding');
  const value = header === undefined ? undefined : scalar(header, 'value');
  if (header === undefined || scalar(header, 'action') !== 'set' || typeof value !== 'string') return false;
  const compiled = compileCel(value, { phase: 'header', result: 'string', requestBody: 'absent' });
  return 'program' in compiled && compiled.program.literal === 'identity';
}
