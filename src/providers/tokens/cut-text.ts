import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';

/** The tokenizer takes quadratic time for unsplittable runs, and has no token this long. In UTF-8 bytes, roughly. */
const LONGEST_RUN = 256;
/** Characters that are counted at once: 0.5 ms for ordinary text, a few ms at worst. */
const CHUNK_LENGTH = 4 * 1024;

/**
 * Cuts a text into pieces that the tokenizer handles quickly. The tokens of the pieces are those of the text, except for runs of
 * more than LONGEST_RUN letters or signs.
 */
export function* cutText(text: string): Generator<string> {
  if (text.length <= CHUNK_LENGTH) {
    yield* cutLongRuns(text);
    return;
  }
  for (let start = 0; start < text.length;) {
    const end = findCut(text, start, start + CHUNK_LENGTH);
    // A copy, not a slice: the tokenizer caches words, and a cached slice would retain the whole text.
    yield* cutLongRuns(Buffer.from(text.slice(start, end), 'utf16le').toString('utf16le'));
    start = end;
  }
}

/**
 * The index at or before `limit` at which to end a piece. A cut between a letter or digit and a following sign or space keeps the
 * count exact; if there is none, the cut is at `limit`, outside of surrogate pairs.
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
  // The limit is in bytes, and a character has up to four.
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

/** The kind of an ASCII character; undefined for others, which are assumed to continue a run. */
function kindOf(code: number): number | undefined {
  if (code > 127) return undefined;
  if (code === 32 || (code >= 9 && code <= 13)) return SPACE;
  return code >= 48 && code <= 57 ? DIGIT : OTHER;
}

/** A quick check for runs that are too long, without false negatives. */
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

let segmenter: Intl.Segmenter | undefined;

/** The sentences of a text, each with the space behind it. */
export function splitSentences(text: string): Iterable<Intl.SegmentData> {
  // Made late: to load its data takes 9 ms of a start, and 2.6 MB.
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'sentence' });
  return segmenter.segment(text);
}
