import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { countTokens, loadTokenizer, splitSentences } from '../../providers/index.js';

/** How a text is cut, in tokens. */
export interface Chunking {
  /** Most tokens of a chunk. */
  readonly size: number;
  /** About how many of them the next chunk repeats. */
  readonly overlap: number;
}

/** A piece of text that is not cut. */
interface Unit {
  readonly text: string;
  readonly tokens: number;
}

/** Characters of a sentence that is counted whole; longer ones are cut. */
const LONGEST_UNIT = 400;

/** Characters that are counted before the event loop goes on: about a ms of work. */
const COUNTED_AT_ONCE = 16_384;

/**
 * Cuts a text into chunks that overlap, at the ends of lines and sentences where there are any. Chunks have up to `size` tokens of o200k_base,
 * as far as the sum of their sentences says. Yields to the event loop meanwhile.
 */
export async function chunkText(text: string, { size, overlap }: Chunking): Promise<readonly string[]> {
  await loadTokenizer();
  const chunks: string[] = [];
  let units: Unit[] = [];
  let tokens = 0;
  let counted = 0;
  /** Whether there is more than what the chunk before has. */
  let isNew = false;
  const end = (): void => {
    const chunk = units
      .map((unit) => unit.text)
      .join('')
      .trim();
    if (isNew && chunk !== '') chunks.push(chunk);
    isNew = false;
  };
  for (const unit of unitsOf(text, size)) {
    counted += unit.text.length;
    if (counted > COUNTED_AT_ONCE) {
      counted = 0;
      await nextLoopTurn();
    }
    if (tokens + unit.tokens > size && units.length > 0) {
      end();
      units = lastOf(units, Math.min(overlap, size - unit.tokens));
      tokens = units.reduce((sum, one) => sum + one.tokens, 0);
    }
    units.push(unit);
    tokens += unit.tokens;
    isNew ||= unit.text.trim() !== '';
  }
  end();
  return chunks;
}

/** The last units, with up to so many tokens. */
function lastOf(units: readonly Unit[], most: number): Unit[] {
  let from = units.length;
  for (let left = most; from > 0; from -= 1) {
    left -= units[from - 1]?.tokens ?? 0;
    if (left < 0) break;
  }
  return units.slice(from);
}

/** The sentences of a text, with what stands between them: joined they are the text. What has more than `most` tokens is cut. */
function* unitsOf(text: string, most: number): Generator<Unit> {
  for (const line of linesOf(text)) {
    const isShort = line.length <= LONGEST_UNIT;
    for (const { segment } of isShort ? [{ segment: line }] : splitSentences(line)) {
      for (const piece of pieces(segment)) yield* halves(piece, most);
    }
  }
}

/** In some scripts, and of emoji, each character is several tokens. */
function* halves(text: string, most: number): Generator<Unit> {
  const tokens = countTokens(text);
  const middle = withoutHalf(text.slice(0, Math.ceil(text.length / 2))).length;
  if (tokens <= most || middle === 0 || middle === text.length) {
    yield { text, tokens };
    return;
  }
  yield* halves(text.slice(0, middle), most);
  yield* halves(text.slice(middle), most);
}

function* linesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const at = text.indexOf('\n', from);
    const to = at === -1 ? text.length : at + 1;
    yield text.slice(from, to);
    from = to;
  }
}

function* pieces(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const longest = text.slice(from, from + LONGEST_UNIT);
    let { length } = longest;
    if (from + length < text.length) {
      const space = longest.lastIndexOf(' ');
      length = space > 0 ? space + 1 : withoutHalf(longest).length;
    }
    yield text.slice(from, from + length);
    from += length;
  }
}

/** Without the first half of a character at its end: none is cut in two. */
function withoutHalf(text: string): string {
  return text.replace(/[\uD800-\uDBFF]$/, '');
}
