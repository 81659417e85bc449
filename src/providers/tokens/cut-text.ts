import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';

/** The tokenizer is quadratic in what it cannot split, and has no word this long. In UTF-8 bytes, roughly. */
const LONGEST_RUN = 256;
/** What is counted in one go: half a millisecond of ordinary text, a few of the worst. */
const CHUNK_LENGTH = 4 * 1024;

/**
 * Cuts a text into pieces that the tokenizer is quick with. The pieces' tokens are the text's own, except where a run of
 * more than LONGEST_RUN letters or signs has no place to be cut at.
 */
export function* cutText(text: string): Generator<string> {
  if (text.length <= CHUNK_LENGTH) {
    yield* cutLongRuns(text);
    return;
  }
  for (let start = 0; start < text.length;) {
    const end = findCut(text, start, start + CHUNK_LENGTH);
    // A copy, not a slice: the tokenizer remembers words, and a slice would keep the whole text alive with them.
    yield* cutLongRuns(Buffer.from(text.slice(start, end), 'utf16le').toString('utf16le'));
    start = end;
  }
}

/**
 * Where to end a piece at `limit` or before. A letter or digit never shares a token with a sign or space behind it, so
 * there the count stays exact; where none is found, anywhere outside a surrogate pair.
 */
function findCut(text: string, start: number, limit: number): number {
  if (limit >= text.length) return text.length;
  for (let cut = limit; cut > start + CHUNK_LENGTH / 2; cut--) {
    if (/[\p{L}\p{N}]/u.test(text.charAt(cut - 1)) && !/[\p{L}\p{M}\p{N}'\udc00-\udfff]/u.test(pointAt(text, cut))) {
      return cut;
    }
  }
  return isLowSurrogate(text, limit) ? limit - 1 : limit;
}

function* cutLongRuns(chunk: string): Generator<string> {
  if (!hasLongRun(chunk)) {
    yield chunk;
    return;
  }
  let start = 0;
  for (const { 0: run, index } of chunk.matchAll(O200K_TOKEN_SPLIT_REGEX)) {
    if (run.length <= LONGEST_RUN) continue;
    if (index > start) yield chunk.slice(start, index);
    yield* cutRun(run);
    start = index + run.length;
  }
  if (start < chunk.length) yield chunk.slice(start);
}

function* cutRun(run: string): Generator<string> {
  // Four bytes at most for each character: what counts is how many bytes the tokenizer gets in one piece.
  const length = /[^\0-\x7f]/.test(run) ? LONGEST_RUN / 4 : LONGEST_RUN;
  for (let start = 0; start < run.length;) {
    const end = isLowSurrogate(run, start + length) ? start + length - 1 : start + length;
    yield run.slice(start, end);
    start = end;
  }
}

const SPACE = 0;
const DIGIT = 1;
const OTHER = 2;

/** What ends a run. Beyond ASCII that takes too long to say: such a character is taken to end none. */
function kindOf(code: number): number | undefined {
  if (code > 127) return undefined;
  if (code === 32 || (code >= 9 && code <= 13)) return SPACE;
  return code >= 48 && code <= 57 ? DIGIT : OTHER;
}

/** Whether the tokenizer might meet a run that is too long: quick, and never wrong when it says no. */
function hasLongRun(text: string): boolean {
  let start = 0;
  let last = OTHER;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const kind = kindOf(code) ?? (last === DIGIT ? OTHER : last);
    if (kind !== last || kind === DIGIT) start = index;
    else if (index - start >= LONGEST_RUN) return true;
    last = kind;
  }
  return false;
}

function pointAt(text: string, index: number): string {
  return String.fromCodePoint(text.codePointAt(index) ?? 0);
}

function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff;
}
