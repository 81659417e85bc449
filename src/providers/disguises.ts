/** The forms in which a text may hold a secret: escaped, encoded, or split by invisible characters. */

/** How often a text is decoded: it may be JSON in JSON, in a URL. */
const MOST_LEVELS = 4;

/** Escapes of JSON and JavaScript; bytes of UTF-8 in URLs; entities of HTML; invisible characters. */
const DISGUISE =
  /\\(?:u[\da-f]{4}|u\{[\da-f]{1,6}\}|x[\da-f]{2}|[^])|%[0-7][\da-f]|%[c-f][\da-f](?:%[89ab][\da-f]){1,3}|&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,6});|[\p{Cf}\p{Default_Ignorable_Code_Point}\0-\x08\v\x0e-\x1f\x7f-\x9f]/giu;

/** JSON escapes of one letter. */
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/** Entities of characters that secrets have, and of some invisible ones. */
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", sol: '/', bsol: '\\', lowbar: '_', hyphen: '-', dash: '-' },
  ...{ period: '.', colon: ':', equals: '=', plus: '+', num: '#', shy: '', zwj: '', zwnj: '' },
};

/** A text as it was, or after some decoding. */
export interface DecodedText {
  readonly text: string;
  /** Where each UTF-16 unit of `text` came from, and the length of what it came from; undefined: from the same place. */
  readonly positions?: readonly number[];
}

/** A text, and what it says once it is decoded, again and again. In linear time. */
export function* viewsOf(text: string): Generator<DecodedText> {
  let view: DecodedText = { text };
  yield view;
  for (let level = 0; level < MOST_LEVELS; level++) {
    const decoded = decode(view);
    if (decoded === null) return;
    yield (view = decoded);
  }
}

/**
 * What Base64 has of a secret wherever it stands among other bytes: for each of the three alignments, and with the letters for URLs. The
 * characters at the ends, which depend on the bytes beside it, are left out.
 */
export function base64FormsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const forms = [0, 1, 2].flatMap((before) => {
    const length = before + bytes.length;
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const form = encoded.slice(Math.ceil((before * 8) / 6), Math.floor((length * 8) / 6));
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
  });
  return [...new Set(forms)];
}

/** One decoding of a view; null if there is nothing to decode. */
function decode({ text, positions: outer }: DecodedText): DecodedText | null {
  let plain = '';
  const positions: number[] = [];
  let last = 0;
  const copy = (end: number): void => {
    for (let at = last; at < end; at++) positions.push(outer?.[at] ?? at);
    plain += text.slice(last, end);
  };
  for (const { index, 0: token } of text.matchAll(DISGUISE)) {
    const meant = meaningOf(token);
    if (meant === token) continue;
    copy(index);
    plain += meant;
    for (let unit = 0; unit < meant.length; unit++) positions.push(outer?.[index] ?? index);
    last = index + token.length;
  }
  if (last === 0) return null;
  copy(text.length);
  positions.push(outer?.at(-1) ?? text.length);
  return { text: plain, positions };
}

/** What an escape stands for; the same text if for nothing. */
function meaningOf(token: string): string {
  const first = token.charAt(0);
  if (first === '\\') {
    const code = /^\\[ux]\{?([\da-f]+)/i.exec(token)?.[1];
    return code === undefined ? (ESCAPES[token.charAt(1)] ?? token.slice(1)) : characterOf(parseInt(code, 16), token);
  }
  if (first === '%') return decodePercents(token);
  if (first !== '&') return '';
  const [, hex = '', digits = hex] = /^&#(?:x([\da-f]+)|(\d+));$/i.exec(token) ?? [];
  if (digits !== '') return characterOf(parseInt(digits, hex === '' ? 10 : 16), token);
  return ENTITIES[token.slice(1, -1).toLowerCase()] ?? token;
}

function characterOf(code: number, token: string): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : token;
}

function decodePercents(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
