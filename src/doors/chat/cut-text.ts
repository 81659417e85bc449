import type { Logprob } from '../../protocol/index.js';
import { StopScanner } from '../stop-scanner.js';

/** Another piece of a text, with its tokens. */
export interface Said {
  readonly text: string;
  readonly logprobs: readonly Logprob[];
}

/** A text that ends before the first of some texts, and its tokens with it. */
export class CutText {
  private readonly scanner: StopScanner;
  /** Tokens that are not shown yet. */
  private readonly tokens: Logprob[] = [];
  /** Where the first of them begins. */
  private begun = 0;
  private shown = 0;

  constructor(stops: readonly string[]) {
    this.scanner = new StopScanner(stops);
  }

  get isCut(): boolean {
    return this.scanner.found !== null;
  }

  /** What may be shown after another piece. A token is shown with its first character. */
  push(piece: string, logprobs: readonly Logprob[]): Said {
    for (const token of logprobs) this.tokens.push(token);
    return this.show(this.scanner.push(piece));
  }

  /** The rest that was held back, at the end of the text. */
  flush(): Said {
    return this.show(this.scanner.flush());
  }

  private show(text: string): Said {
    this.shown += text.length;
    // Tokens that do not add up to the text, such as parts of characters, shift the places of those behind them only until here.
    if (this.scanner.isCaughtUp) {
      this.begun = this.shown;
      return { text, logprobs: this.tokens.splice(0) };
    }
    let count = 0;
    for (; count < this.tokens.length && this.begun < this.shown; count += 1) {
      this.begun += this.tokens[count]?.token.length ?? 0;
    }
    return { text, logprobs: this.tokens.splice(0, count) };
  }
}
