import { format, inspect } from 'node:util';
import t from 'tap';
import { AppError } from '../../src/kernel/errors.ts';
import { Secret } from '../../src/kernel/secret.ts';

const value = 'sk-live-5f1e0c';
const secret = new Secret(value);

t.test('reveal gives the value', async (t) => {
  t.equal(secret.reveal(), value);
});

t.test('no other way of printing does', async (t) => {
  const holder = { name: 'k', nested: [{ secret }], map: new Map([['key', secret]]) };
  const error = new Error('mint failed', { cause: secret });
  const appError = new AppError('internal', 'mint failed', { secret }, { cause: { secret } });
  const printed: Record<string, string> = {
    'JSON': JSON.stringify(holder),
    'JSON of itself': JSON.stringify(secret),
    // eslint-disable-next-line @typescript-eslint/restrict-template-expressions -- the mistake this type is made for
    'a template': `${secret}`,
    'String()': String(secret),
    // eslint-disable-next-line @typescript-eslint/restrict-plus-operands -- as above
    'concatenation': 'x' + secret,
    'join': [secret].join(),
    'inspect': inspect(holder, { depth: null }),
    'inspect of hidden fields': inspect(secret, { showHidden: true, depth: null, getters: true }),
    'inspect without custom printers': inspect(secret, { customInspect: false, showHidden: true, depth: null }),
    '%s': format('%s', secret),
    '%o': format('%o', secret),
    '%O': format('%O', holder),
    '%j': format('%j', holder),
    'an error with it as cause': inspect(error, { depth: null, showHidden: true }),
    'an AppError with it in details and cause': inspect(appError, { depth: null, showHidden: true }),
    'an AggregateError': inspect(new AggregateError([error], 'several'), { depth: null }),
    'its stack': String(error.stack),
    'own properties': JSON.stringify(Object.getOwnPropertyDescriptors(secret)),
    'a spread copy': JSON.stringify({ ...secret }),
    'a structured clone': inspect(structuredClone({ ...holder, secret: undefined, copy: Object.assign({}, secret) }), { depth: null, showHidden: true }),
    'a number': String(Number(secret)),
  };
  for (const [way, text] of Object.entries(printed)) t.notMatch(text, value, way);
  t.match(printed['JSON'], '[secret]', 'and it is marked as one');
  t.match(printed['inspect'], '[secret]');
});
