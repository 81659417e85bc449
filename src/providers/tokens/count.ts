import { cutText } from './cut-text.js';
import { loadTokenizer, tokenizer } from './tokenizer.js';

/** How far a count of tokens has to go. */
export interface CountOptions {
  /** Aborts when nobody needs the count any more; the count then rejects. */
  readonly signal?: AbortSignal | undefined;
  /** A count beyond `limit` may stop: anything above it is enough. */
  readonly limit?: number | undefined;
  /** Asks the upstream, if it can count; otherwise the count is local, and may be an estimate. */
  readonly exact?: boolean | undefined;
}

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

/** Work between two turns of the event loop, in characters of ordinary text: about 4 ms. */
const SLICE_COST = 64 * 1024;

/** The pace of all counts of the process: after each slice of work the event loop has a turn, and then those that wait go on, in their order. */
let spent = 0;
const waiting: (() => void)[] = [];

/** Notes work, in characters of ordinary text. Returns a promise when the caller has to wait before it does more. */
export function spend(cost: number): Promise<void> | undefined {
  spent += cost;
  if (spent < SLICE_COST) return undefined;
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(wake);
  });
}

function wake(): void {
  spent = 0;
  wakeNext();
}

/** Wakes them within one slice: most have counted all they had, and take nothing of it. */
function wakeNext(): void {
  if (spent >= SLICE_COST) return void setImmediate(wake);
  waiting.shift()?.();
  // Behind the microtasks, in which the one that was woken goes on.
  if (waiting.length > 0) queueMicrotask(() => process.nextTick(wakeNext));
}

/**
 * The tokens of a text, a few thousand characters at a time and at the pace of all counts: other work goes on between them. Throws the
 * reason of the signal when it aborts.
 */
export async function* encodeText(text: string, signal: AbortSignal): AsyncGenerator<readonly number[]> {
  for (const chunk of cutText(text)) {
    const pause = spend(chunk.length);
    if (pause !== undefined) await pause;
    signal.throwIfAborted();
    yield tokenizer().encode(chunk);
  }
}
