import { wordsIn, wordsOf } from '../vector-index.js';

/** Parameters of BM25: how soon more of the same word counts no more, and how much longer texts count less. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/** Bytes that a word takes beside its letters: an entry of a map, an object and their pointers. */
const WORD_BYTES = 128;

/** The words of a text. */
export interface CountedWords {
  /** Numbers of words, ascending. */
  readonly words: Uint32Array;
  /** How often the text has each of them. */
  readonly counts: Uint32Array;
  /** How many words it has. */
  readonly length: number;
}

/** The words of many texts, by numbers: a text is read once, and each of its words takes eight bytes. */
export class NumberedWords {
  private readonly numbers = new Map<string, number>();
  /** By the number of a word: itself, and how many texts have it. */
  private entries: ({ readonly word: string; uses: number } | undefined)[] = [];
  /** Numbers that no word has. */
  private free: number[] = [];
  private size = 0;

  /** What the words themselves take, each of which is kept once, estimated. */
  get bytes(): number {
    return this.size;
  }

  /** Counts the words of a text. */
  add(text: string): CountedWords {
    const counted = new Map<number, number>();
    const all = wordsIn(text);
    for (const word of all) {
      const number = this.numbers.get(word) ?? this.number(word);
      counted.set(number, (counted.get(number) ?? 0) + 1);
    }
    const words = Uint32Array.from(counted.keys()).sort();
    for (const number of words) this.change(number, 1);
    return { words, counts: words.map((number) => counted.get(number) ?? 0), length: all.length };
  }

  /** Forgets a text. */
  remove({ words }: CountedWords): void {
    for (const number of words) this.change(number, -1);
  }

  /** The ranks by BM25 of texts that have words of a question. Rare words count more. */
  rank(question: string, texts: readonly CountedWords[]): readonly (number | null)[] {
    const average = texts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length);
    const ranks = texts.map(() => 0);
    for (const word of wordsOf(question)) {
      const number = this.numbers.get(word);
      if (number === undefined) continue;
      const found = texts.map((text) => countOf(text, number));
      const having = found.reduce((sum, count) => sum + (count > 0 ? 1 : 0), 0);
      const rarity = Math.log(1 + (texts.length - having + 0.5) / (having + 0.5));
      for (const [index, { length }] of texts.entries()) {
        const count = found[index] ?? 0;
        if (count === 0) continue;
        const relative = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * (length / average);
        ranks[index] = (ranks[index] ?? 0) + (rarity * count * (SATURATION + 1)) / (count + SATURATION * relative);
      }
    }
    return ranks.map((rank) => (rank > 0 ? rank : null));
  }

  private number(word: string): number {
    const number = this.free.pop() ?? this.entries.length;
    this.entries[number] = { word, uses: 0 };
    this.numbers.set(word, number);
    this.size += bytesOf(word);
    return number;
  }

  private change(number: number, by: 1 | -1): void {
    const entry = this.entries[number];
    if (entry === undefined) return;
    entry.uses += by;
    if (entry.uses > 0) return;
    this.numbers.delete(entry.word);
    this.size -= bytesOf(entry.word);
    this.entries[number] = undefined;
    this.free.push(number);
    if (this.numbers.size > 0) return;
    this.entries = [];
    this.free = [];
  }
}

function bytesOf(word: string): number {
  return word.length * 2 + WORD_BYTES;
}

/** How often a text has a word: a binary search. */
function countOf({ words, counts }: CountedWords, number: number): number {
  let from = 0;
  let to = words.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((words[middle] ?? 0) < number) from = middle + 1;
    else to = middle;
  }
  return words[from] === number ? (counts[from] ?? 0) : 0;
}
