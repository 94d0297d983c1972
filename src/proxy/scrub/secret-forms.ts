/** Shorter texts stand in answers by chance: masking them would garble what is no secret. */
export const secretBytesMin = 8;

/**
 * The byte strings to look for, each at least 8 bytes: every secret as it is, and in the spellings that an upstream's echo gives it: base64 (also in
 * the middle of a longer text), hexadecimal, percent-encoding, JSON and HTML escapes. Every spelling is whole in itself, so that
 * masking it byte by byte leaves the document around it well-formed.
 */
export function secretForms(secrets: readonly string[]): readonly Buffer[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    const text = secret.toWellFormed();
    if (Buffer.byteLength(text) < secretBytesMin) continue;
    for (const form of [text, ...percent(text), ...json(text), ...html(text), ...encoded(Buffer.from(text))]) forms.add(form);
  }
  return [...forms].map((form) => Buffer.from(form)).filter((form) => form.length >= secretBytesMin);
}

function percent(text: string): string[] {
  const component = encodeURIComponent(text);
  const strict = component.replace(/[!'()*~]/g, hexEscape);
  const upper = [component, strict, encodeURI(text), component.replaceAll('%20', '+'), strict.replaceAll('%20', '+'), encodeURIComponent(component)];
  return [...upper, ...upper.map((form) => form.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()))];
}

function hexEscape(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** As JavaScript writes it, with `\/` (PHP), `<>&` escaped (Go), and everything escaped that a library may escape (.NET, Python). */
function json(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  const all = [plain, plain.replace(/[<>&]/g, unicodeEscape), plain.replace(/[<>&'+/`=]/g, unicodeEscape), plain.replace(/[<>&'+`]/g, unicodeEscape)];
  const ascii = all.map((form) => form.replace(/[^\x00-\x7f]/g, unicodeEscape));
  const both = [...all, ...ascii];
  return [...both, ...both.map((form) => form.replaceAll('/', '\\/'))].flatMap((form) => [form, form.replace(/\\u[0-9a-f]{4}/g, (escape) => `\\u${escape.slice(2).toUpperCase()}`)]);
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const tags = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** What libraries make of a text in HTML: tags only, attributes too, PHP, Python, mustache, Go's `html` and its templates. */
const htmlStyles: readonly Readonly<Record<string, string>>[] = [
  tags,
  { ...tags, '"': '&quot;' },
  { ...tags, '"': '&quot;', "'": '&#39;' },
  { ...tags, '"': '&quot;', "'": '&#039;' },
  { ...tags, '"': '&quot;', "'": '&#x27;' },
  { ...tags, '"': '&quot;', "'": '&#x27;', '/': '&#x2F;' },
  { ...tags, '"': '&quot;', "'": '&#39;', '/': '&#x2F;', '`': '&#x60;', '=': '&#x3D;' },
  { ...tags, '"': '&#34;', "'": '&#39;' },
  { ...tags, '"': '&#34;', "'": '&#39;', '+': '&#43;' },
];

function html(text: string): string[] {
  return htmlStyles.map((style) => text.replace(/[&<>"'/`=+]/g, (character) => style[character] ?? character));
}

function encoded(bytes: Buffer): string[] {
  const hex = bytes.toString('hex');
  const whole = bytes.toString('base64');
  const standard = [whole, whole.replaceAll('=', ''), ...[0, 1, 2].map((offset) => inner(bytes, offset))];
  return [hex, hex.toUpperCase(), ...standard, ...standard.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))];
}

/** The characters that base64 gives these bytes whatever stands around them, when they begin `offset` bytes into a group of three. */
function inner(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  return text.slice(offset === 0 ? 0 : offset + 1, Math.floor(((offset + bytes.length) * 8) / 6));
}
