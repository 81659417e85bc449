import type { CountOptions } from './count-options.js';
import { cutText } from './cut-text.js';
import { spend } from './pace.js';
import { loadTokenizer, tokenizer } from './tokenizer.js';

/** Relative cost of a character in text with many tokens per character. */
const DENSE_COST = 16;

/** A count under way: it lets other work run, and stops when it is aborted or has counted enough. */
export class Count {
  tokens = 0;
  private readonly limit: number;

  private constructor(private readonly options: CountOptions) {
    this.limit = options.limit ?? Infinity;
  }

  /** Waits for the tokenizer. */
  static async begin(options: CountOptions): Promise<Count> {
    const loading = loadTokenizer();
    if (loading !== undefined) await loading;
    options.signal?.throwIfAborted();
    return new Count(options);
  }

  /** Whether the limit is exceeded; the rest is not counted then. */
  get isEnough(): boolean {
    return this.tokens > this.limit;
  }

  add(tokens: number): void {
    this.tokens += tokens;
  }

  /** Adds the tokens of a text. */
  async addText(text: string): Promise<void> {
    for (const chunk of cutText(text)) {
      if (this.isEnough) return;
      const counted = countChunk(chunk);
      this.tokens += counted;
      // Ordinary text has about four characters per token; text with fewer than three takes longer.
      const pause = this.pay(counted * 3 > chunk.length ? chunk.length * DENSE_COST : chunk.length);
      if (pause !== undefined) await pause;
    }
  }

  /** Notes work, in characters. Returns a promise after a slice of it, which rejects when the signal aborts. */
  pay(cost: number): Promise<void> | undefined {
    return spend(cost)?.then(() => this.options.signal?.throwIfAborted());
  }
}

/** Tokens of a text of the length that `cutText` gives. */
export function countChunk(chunk: string): number {
  return tokenizer().countTokens(chunk);
}
