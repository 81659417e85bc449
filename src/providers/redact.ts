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

/** JSON escapes of one letter. */
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/** Replaces a secret. */
export const REDACTED = '[redacted]';

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

/** Redacts credentials in a text. */
export function redact(text: string, secrets: readonly string[]): string {
  return redactPieces([text], secrets)[0] ?? '';
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

/** Redacts credentials in all strings of a value. */
export function redactDeeply(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return redact(value, secrets);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element) => redactDeeply(element, secrets));
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, redactDeeply(member, secrets)]));
}

/** Ranges of secrets, sorted and without overlaps. */
function findRanges(text: string, secrets: readonly string[]): readonly Range[] {
  const found = [...findPlain(text, secrets), ...findEscaped(text, secrets)];
  const merged: Range[] = [];
  for (const range of found.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last === undefined || range.start >= last.end) merged.push(range);
    else merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, range.end) };
  }
  return merged;
}

function* findPlain(text: string, secrets: readonly string[]): Generator<Range> {
  for (const secret of secrets) {
    // An empty text is found everywhere, without end.
    if (secret === '') continue;
    for (let start = text.indexOf(secret); start !== -1; start = text.indexOf(secret, start + secret.length)) {
      yield { start, end: start + secret.length };
    }
  }
  for (const pattern of LOOKS_SECRET) {
    for (const { index, 0: match } of text.matchAll(pattern)) yield { start: index, end: index + match.length };
  }
}

/** Ranges of secrets in the unescaped text: JSON, such as arguments, may escape characters of a secret. */
function* findEscaped(text: string, secrets: readonly string[]): Generator<Range> {
  if (!text.includes('\\')) return;
  const positions: number[] = [];
  let plain = '';
  for (const { index, 0: token } of text.matchAll(/\\(?:u[0-9a-f]{4}|[^u])|[^]/gi)) {
    positions.push(index);
    plain += token.length === 1 ? token : unescape(token);
  }
  positions.push(text.length);
  for (const { start, end } of findPlain(plain, secrets)) {
    yield { start: positions[start] ?? 0, end: positions[end] ?? text.length };
  }
}

function unescape(token: string): string {
  if (token.length > 2) return String.fromCharCode(parseInt(token.slice(2), 16));
  const letter = token.charAt(1);
  return ESCAPES[letter] ?? letter;
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
