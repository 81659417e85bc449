import { base64FormsOf, type DecodedText, viewsOf } from './disguises.js';

/** Minimum characters of a secret; shorter values occur in ordinary text. */
export const SHORTEST_SECRET = 8;

const SECRET_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|DSN|DATABASE_URL/i;

/** Patterns of common credentials. Lookbehinds anchor them at word starts, so that matching stays linear. */
const LOOKS_SECRET = [
  /(?<![\w-])Bearer\s{1,8}[\w.~+/-]{8,4096}={0,2}/gi,
  /(?<![\w-])(?:sk|pk|rk)-[\w-]{8,4096}/g,
  /(?<![\w-])(?:gh[pousr]|github_pat|glpat|xox[abprs])[-_][\w-]{8,4096}/g,
  /(?<![\w-])AKIA[0-9A-Z]{16}(?![\w-])/g,
  /(?<![\w-])eyJ[\w-]{8,8192}\.[\w-]{8,8192}\.[\w-]{0,8192}/g,
  /(?<=:\/\/)[^\s/:@]{1,256}:[^\s/@]{1,256}(?=@)/g,
];

/** What may be half a character at the end of a text, or half an escape. */
const HALF =
  /(?:[\ud800-\udbff]|%[c-f][\da-f]?(?:%[89ab]?[\da-f]?){0,3}|%[\da-f]?|\\{1,4}[^\s\\%&]{0,9}|&[^\s\\%&;]{0,9})$/i;

const BASE64 = /[\w+/-]/;
const BASE64_END = /^[\w+/-]?={0,2}/;

/** Replaces a secret. */
const REDACTED = '[redacted]';

/** The position of a secret in a text. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** The secrets of this process: environment variables with telling names, and API keys of clients. */
export function findSecrets(
  variables: Readonly<Record<string, string | undefined>>,
  apiKeys: readonly string[],
): readonly string[] {
  const named = Object.entries(variables).flatMap(([name, value = '']) => (SECRET_NAME.test(name) ? [value] : []));
  const keys = apiKeys.map((entry) => entry.slice(entry.indexOf(':') + 1));
  return [...named, ...keys].filter((value) => value.length >= SHORTEST_SECRET && !/^\d+$/.test(value));
}

/**
 * Redacts credentials in a text, also where they are in Base64, in a URL, in JSON or HTML, or split by what is not seen: see `viewsOf`. In
 * linear time.
 */
export function redact(text: string, secrets: readonly string[]): string {
  return redactPieces([text], secrets)[0] ?? '';
}

/** Whether a text has credentials in it. */
export function quotesSecret(text: string, secrets: readonly string[]): boolean {
  return findRanges(text, secrets).length > 0;
}

/** Whether a text has one of these secrets in it. What only looks like one does not count: tokens do. */
export function quotesKnownSecret(text: string, secrets: readonly string[]): boolean {
  return findRanges(text, secrets, { isKnown: true }).length > 0;
}

/** Redacts credentials in the beginning of a text, and at its end what may be the beginning of one. */
export function redactBeginning(text: string, secrets: readonly string[], length: number): string {
  if (text.length <= length) return redact(text, secrets);
  const beginning = text.slice(0, length).replace(HALF, '');
  return cutOut(beginning, 0, findRanges(beginning, secrets, { isCut: true }), 0);
}

/** Redacts credentials in a text in pieces, including those that span several pieces. */
export function redactPieces(pieces: readonly string[], secrets: readonly string[]): readonly string[] {
  const ranges = findRanges(pieces.join(''), secrets);
  if (ranges.length === 0) return pieces;
  let offset = 0;
  let first = 0;
  return pieces.map((piece) => {
    const start = offset;
    offset += piece.length;
    // Pieces and ranges are sorted, so ranges before this piece can be skipped for all later ones.
    while ((ranges[first]?.end ?? Infinity) <= start) first += 1;
    return cutOut(piece, start, ranges, first);
  });
}

/** Redacts credentials in all strings of a value, and in the names of its members. */
export function redactDeeply(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return redact(value, secrets);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element) => redactDeeply(element, secrets));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [redact(key, secrets), redactDeeply(member, secrets)]),
  );
}

/** What is searched for. */
interface Needles {
  /** Known secrets. */
  readonly plain: readonly string[];
  readonly base64: readonly string[];
}

/** By the list of secrets: it is the same for all texts of an upstream. */
const needles = new WeakMap<readonly string[], Needles>();

function needlesOf(secrets: readonly string[]): Needles {
  let known = needles.get(secrets);
  if (known === undefined) {
    // An empty text is found everywhere, without end.
    const plain = secrets.filter((secret) => secret !== '');
    // What looks like an escape in a secret is decoded with the rest of a text.
    const decoded = plain.flatMap((secret) => [...viewsOf(secret)].map(({ text }) => text));
    const long = [...plain, ...decoded].filter(({ length }) => length >= SHORTEST_SECRET);
    known = { plain: [...new Set([...plain, ...long])], base64: [...new Set(long.flatMap(base64FormsOf))] };
    needles.set(secrets, known);
  }
  return known;
}

/** What else to find, or not to find. */
interface FindOptions {
  /** Only known secrets, not what looks like one. */
  readonly isKnown?: boolean;
  /** Also what may be the beginning of one, at the end of the text. */
  readonly isCut?: boolean;
}

/** Ranges of secrets, sorted and without overlaps. */
function findRanges(text: string, secrets: readonly string[], options: FindOptions = {}): readonly Range[] {
  const found: Range[] = [];
  for (const view of viewsOf(text)) {
    const { positions } = view;
    for (const { start, end } of findIn(view, needlesOf(secrets), options)) {
      found.push({ start: positions?.[start] ?? start, end: positions?.[end] ?? end });
    }
  }
  const merged: Range[] = [];
  for (const range of found.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last === undefined || range.start >= last.end) merged.push(range);
    else merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, range.end) };
  }
  return merged;
}

function* findIn({ text }: DecodedText, { plain, base64 }: Needles, { isKnown, isCut }: FindOptions): Generator<Range> {
  for (const secret of plain) yield* findAll(text, secret);
  for (const form of base64) {
    for (const { start, end } of findAll(text, form)) {
      // In base64 the characters beside a secret hold some of its bits.
      const isInside = BASE64.test(text.charAt(start - 1));
      yield {
        start: isInside ? start - 1 : start,
        end: end + (BASE64_END.exec(text.slice(end, end + 3))?.[0].length ?? 0),
      };
    }
  }
  for (const pattern of isKnown === true ? [] : LOOKS_SECRET) {
    for (const { index, 0: match } of text.matchAll(pattern)) yield { start: index, end: index + match.length };
  }
  if (isCut !== true) return;
  // Any credential without blanks, and what has begun of a known one with blanks.
  const word = text.split(/\s/).at(-1)?.length ?? 0;
  const begun = plain.map((secret) => lengthOfBegun(text, secret));
  yield { start: text.length - Math.max(word, ...begun), end: text.length };
}

function* findAll(text: string, needle: string): Generator<Range> {
  for (let start = text.indexOf(needle); start !== -1; start = text.indexOf(needle, start + needle.length)) {
    yield { start, end: start + needle.length };
  }
}

/** Characters of the longest beginning of a secret that a text ends with. */
function lengthOfBegun(text: string, secret: string): number {
  let length = Math.min(text.length, secret.length - 1);
  while (length > 0 && !text.endsWith(secret.slice(0, length))) length -= 1;
  return length;
}

/** Redacts a piece that begins at `offset`. A secret that spans pieces leaves REDACTED only in the first. */
function cutOut(piece: string, offset: number, ranges: readonly Range[], first: number): string {
  let text = '';
  let at = 0;
  for (let index = first; index < ranges.length; index++) {
    const { start, end } = ranges[index] as Range;
    if (start >= offset + piece.length) break;
    const from = Math.max(0, start - offset);
    const to = Math.min(piece.length, end - offset);
    text += piece.slice(at, from) + (start >= offset ? REDACTED : '');
    at = to;
  }
  return text + piece.slice(at);
}

/** The name of a member or a type of an upstream, which an error may quote; `unknown` for what is no short, plain name. */
export function quotableName(value: unknown): string {
  return typeof value === 'string' && /^[\w.-]{1,40}$/.test(value) ? value : 'unknown';
}
