import fc from 'fast-check';
import t from 'tap';
import { buildAutomaton } from '../../src/proxy/scrub/automaton.ts';
import { createScrubberCache } from '../../src/proxy/scrub/scrubber-cache.ts';
import type { BodyScrub } from '../../src/proxy/scrub/scrubber.ts';
import { createScrubber, scrubberOf } from '../../src/proxy/scrub/scrubber.ts';
import { secretForms } from '../../src/proxy/scrub/secret-forms.ts';

/** Masks by its definition: every byte of every occurrence of every pattern. */
function plainly(patterns: readonly Buffer[], text: Buffer): Buffer {
  const masked = Buffer.from(text);
  for (const pattern of patterns) {
    for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, at + 1)) masked.fill('*', at, at + pattern.length);
  }
  return masked;
}

function whole(scrub: BodyScrub, chunks: readonly Buffer[]): Buffer {
  return Buffer.concat([...chunks.map((chunk) => scrub.push(chunk)), scrub.end()]);
}

function cut(text: Buffer, at: readonly number[]): Buffer[] {
  const borders = [0, ...at.map((index) => index % (text.length + 1)).sort((a, b) => a - b), text.length];
  return borders.slice(1).map((border, index) => text.subarray(borders[index], border));
}

const mask = (secret: string, text: string): string => whole(createScrubber([secret]).body(), [Buffer.from(text)]).toString();
const borders = fc.array(fc.nat(2_000), { maxLength: 30 });
// Two letters make patterns overlap, nest and repeat all the time.
const dense = (minLength: number, maxLength: number): fc.Arbitrary<Buffer> => fc.array(fc.constantFrom(97, 98), { minLength, maxLength }).map((bytes) => Buffer.from(bytes));

t.test('any patterns, any text, any chunks: as by definition', async (t) => {
  fc.assert(fc.property(fc.array(dense(1, 9), { minLength: 1, maxLength: 5 }), dense(0, 60), borders, (patterns, text, at) => {
    t.strictSame(whole(scrubberOf(buildAutomaton(patterns)).body(), cut(text, at)).toString(), plainly(patterns, text).toString());
  }), { numRuns: 3_000 });
});

t.test('more states than are tabled: as by definition', async (t) => {
  const long = fc.array(dense(100, 200), { minLength: 2, maxLength: 4 });
  fc.assert(fc.property(long, fc.array(fc.tuple(fc.nat(3), fc.nat(200), fc.nat(200)), { maxLength: 12 }), borders, (patterns, pieces, at) => {
    const text = Buffer.concat(pieces.map(([pattern, from, to]) => (patterns[pattern % patterns.length] ?? Buffer.alloc(0)).subarray(pieces.length % 2 === 0 ? 0 : Math.min(from, to), Math.max(from, to))));
    const automaton = buildAutomaton(patterns);
    t.ok(automaton.states > 128);
    t.strictSame(whole(scrubberOf(automaton).body(), cut(text, at)).toString(), plainly(patterns, text).toString());
  }), { numRuns: 500 });
});

t.test('secrets in a body: none survives in any spelling, the rest is unchanged, the length too', async (t) => {
  const secret = fc.string({ unit: 'grapheme', minLength: 8, maxLength: 40 }).filter((text) => Buffer.byteLength(text) >= 8);
  fc.assert(fc.property(fc.array(secret, { minLength: 1, maxLength: 3 }), fc.array(fc.tuple(fc.string(), fc.nat(200)), { maxLength: 8 }), borders, (secrets, parts, at) => {
    const forms = secretForms(secrets);
    const text = Buffer.concat(parts.flatMap(([between, form]) => [Buffer.from(between), forms[form % forms.length] ?? Buffer.alloc(0)]));
    const clean = whole(createScrubber(secrets).body(), cut(text, at));
    t.equal(clean.length, text.length);
    t.strictSame(clean, plainly(forms, text));
    // Masking can only make up what holds the mask itself.
    t.notOk(forms.some((form) => !form.includes('*') && clean.includes(form)));
  }), { numRuns: 500 });
});

t.test('every byte that is decided goes out at once', async (t) => {
  fc.assert(fc.property(dense(8, 12), dense(0, 60), borders, (pattern, text, at) => {
    const scrub = scrubberOf(buildAutomaton([pattern])).body();
    let seen = 0;
    let out = 0;
    for (const chunk of cut(text, at)) {
      seen += chunk.length;
      out += scrub.push(chunk).length;
      const upTo = text.subarray(0, seen);
      const masked = plainly([pattern], upTo);
      // The earliest byte that is not masked yet and that some next bytes could mask.
      let undecided = seen;
      for (let length = Math.min(seen, pattern.length - 1); length > 0 && undecided === seen; length -= 1) {
        if (upTo.subarray(seen - length).equals(pattern.subarray(0, length))) undecided = seen - length;
      }
      const tail = [...plainly([pattern], Buffer.concat([upTo, pattern.subarray(seen - undecided)]))].findIndex((byte, index) => index >= undecided && index < seen && masked[index] !== byte);
      t.equal(out, undecided === seen || tail < 0 ? seen : tail);
    }
  }), { numRuns: 2_000 });
});

t.test('what is masked already is not held for the sake of another secret', async (t) => {
  const scrub = scrubberOf(buildAutomaton(['xxSECRET--zz', 'SECRET--', 'RET--QQQ'].map((pattern) => Buffer.from(pattern)))).body();
  t.strictSame(['xxSECRET--', 'Q', 'QQ', '.'].map((chunk) => scrub.push(Buffer.from(chunk)).toString()), ['', 'xx********', '***', '.']);
  t.equal(scrub.end().length, 0);
});

t.test('spellings of an echo', async (t) => {
  const secret = 'p+ss/w"rd&<x>=\'ü 1';
  const spelled: readonly [string, string][] = [
    ['as it is', secret],
    ['percent', encodeURIComponent(secret)],
    ['percent, lower case', encodeURIComponent(secret).replace(/%../g, (escape) => escape.toLowerCase())],
    ['form', new URLSearchParams({ secret }).toString().slice('secret='.length)],
    ['percent twice', encodeURIComponent(encodeURIComponent(secret))],
    ['URL', encodeURI(secret)],
    ['JSON', JSON.stringify(secret).slice(1, -1)],
    ['JSON of PHP', 'p+ss\\/w\\"rd&<x>=\'\\u00fc 1'],
    ['JSON of Go', 'p+ss/w\\"rd\\u0026\\u003cx\\u003e=\'ü 1'],
    ['JSON of Python', 'p+ss/w\\"rd&<x>=\'\\u00fc 1'],
    ['JSON with capitals', 'p+ss/w\\"rd\\u0026\\u003Cx\\u003E=\'\\u00FC 1'],
    ['HTML', 'p+ss/w"rd&amp;&lt;x&gt;=\'ü 1'],
    ['HTML of Go templates', 'p&#43;ss/w&#34;rd&amp;&lt;x&gt;=&#39;ü 1'],
    ['HTML of Python', 'p+ss/w&quot;rd&amp;&lt;x&gt;=&#x27;ü 1'],
    ['hexadecimal', Buffer.from(secret).toString('hex')],
    ['HEXADECIMAL', Buffer.from(secret).toString('hex').toUpperCase()],
    ['base64', Buffer.from(secret).toString('base64')],
    ['base64url', Buffer.from(secret).toString('base64url')],
  ];
  for (const [name, spelling] of spelled) t.equal(mask(secret, `<${spelling}>`), `<${'*'.repeat(Buffer.byteLength(spelling))}>`, name);
});

t.test('base64 of a text with the secret in its middle', async (t) => {
  const secret = 'sk-0123456789abcdef';
  for (const before of ['', 'a', 'ab', 'abc', 'user:']) {
    for (const after of ['', 'x', 'yz', ' end']) {
      const clean = mask(secret, Buffer.from(before + secret + after).toString('base64'));
      const read = Buffer.from(clean.replaceAll('*', 'A'), 'base64').toString('latin1');
      t.notOk(read.includes(secret.slice(1, -1)) || /sk-0|cdef/.test(read), `${before} ${after}`);
    }
  }
});

t.test('headers: location, cookie, nothing; bytes that are no ASCII', async (t) => {
  const { header } = createScrubber(['sk-0123456789', 'geheim-schlüssel']);
  t.equal(header('https://example.com/?api_key=sk-0123456789&a=1'), 'https://example.com/?api_key=*************&a=1');
  t.equal(header('sk-012345678'), 'sk-012345678');
  t.equal(header(''), '');
  const utf8 = Buffer.from('x geheim-schlüssel ü').toString('latin1');
  t.equal(header(utf8), Buffer.from(`x ${'*'.repeat(17)} ü`).toString('latin1'));
});

t.test('short secrets are left alone, no secrets change nothing', async (t) => {
  t.equal(mask('1234567', 'a 1234567 b'), 'a 1234567 b');
  const chunk = Buffer.from('anything');
  t.equal(createScrubber([]).body().push(chunk), chunk, 'not copied');
});

t.test('the bytes of the caller stay as they were', async (t) => {
  const chunk = Buffer.from('a secret-value b');
  createScrubber(['secret-value']).body().push(chunk);
  t.equal(chunk.toString(), 'a secret-value b');
});

t.test('a lone surrogate and a secret of many thousand characters', async (t) => {
  t.equal(mask('lone \ud800 surrogate', 'a lone \ufffd surrogate b'), `a ${'*'.repeat(18)} b`);
  const long = Array.from({ length: 8_000 }, (_, index) => String.fromCharCode(33 + ((index * 7_919) % 90))).join('');
  t.equal(mask(long, `(${long})`), `(${'*'.repeat(8_000)})`);
});

t.test('steps stay linear where occurrences overlap', async (t) => {
  const body = Buffer.alloc(4_000_000, 'a');
  t.ok(whole(createScrubber(['a'.repeat(4_000)]).body(), cut(body, [1_999, 2_000_000])).equals(Buffer.alloc(body.length, '*')));
});

t.test('the cache gives equal scrubbers, whatever it had to forget', async (t) => {
  const scrubberFor = createScrubberCache({ bytesMax: 400_000 });
  for (let round = 0; round < 3; round += 1) {
    for (let index = 0; index < 12; index += 1) {
      const secret = `secret-number-${index}`;
      t.equal(scrubberFor([secret, 'other-secret']).header(`a ${secret} b secret-number-x other-secret`), `a ${'*'.repeat(secret.length)} b secret-number-x ${'*'.repeat(12)}`);
    }
  }
});
