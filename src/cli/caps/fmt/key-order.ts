/** Order of the fields of each map, as in the contract's tables (2.7). */
const orders = {
  capability: ['name', 'type', 'allow', 'transforms', 'budgets'],
  allow: ['name', 'domains', 'methods', 'paths', 'allow_insecure', 'match', 'request_format', 'request_schema'],
  match: ['expr', 'requires_body'],
  transforms: ['name', 'direction', 'applies_to', 'requires_body', 'header', 'path', 'query', 'body', 'auth'],
  header: ['name', 'action', 'value'],
  path: ['action', 'pattern', 'value'],
  query: ['action', 'key', 'value'],
  body: ['action', 'key', 'value'],
  auth: ['credential', 'provider'],
  budgets: ['counters'],
  counters: [
    'name', 'source', 'value', 'requires_body', 'framing', 'format', 'encoding', 'sse_event', 'status_codes', 'accumulator', 'reserve_per_request', 'failure_charge',
    'max_concurrent', 'workspace', 'task', 'terminal_event_type', 'terminal_sentinel', 'terminal_cel',
  ],
  scope: ['max', 'ttl'],
} as const;

/** Kinds of maps, by the way to them: keys from a capability down, list indexes left out. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  '': orders.capability,
  'allow': orders.allow,
  'allow.match': orders.match,
  'transforms': orders.transforms,
  'transforms.header': orders.header,
  'transforms.path': orders.path,
  'transforms.query': orders.query,
  'transforms.body': orders.body,
  'transforms.auth': orders.auth,
  'budgets': orders.budgets,
  'budgets.counters': orders.counters,
  'budgets.counters.workspace': orders.scope,
  'budgets.counters.task': orders.scope,
};

/** The order of the keys at a place (`transforms.header`), or undefined where it is the author's own (schemas, unknown places). */
export function keyOrder(place: string): readonly string[] | undefined {
  return Object.hasOwn(kinds, place) ? kinds[place] : undefined;
}

/** Lists whose entries always stand in double quotes: half of them would otherwise read as numbers. */
export function alwaysQuoted(place: string): boolean {
  return place === 'budgets.counters.status_codes';
}

/** Lists and maps that are always written as blocks. Others may stay `{action: set, …}` on one line. */
export function alwaysBlock(place: string, isList: boolean): boolean {
  return place === '' || place === 'budgets' || (isList && (place === 'allow' || place === 'transforms' || place === 'budgets.counters'));
}

const lists: ReadonlySet<string> = new Set(['allow.domains', 'allow.methods', 'allow.paths', 'transforms.applies_to', 'budgets.counters.status_codes']);

/** Lists and maps of the contract. Those inside of a schema are as their author likes them. */
export function mayBeBlock(place: string): boolean {
  return lists.has(place) || keyOrder(place) !== undefined;
}
