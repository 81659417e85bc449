/**
 * Cuts a text before the first stop sequence. The Responses API has none, so that models are not told of them: their text is searched while
 * it passes. What may be the beginning of a sequence is held back until the rest shows.
 */
export class StopScanner {
  /** The sequence that was found; null while there is none. */
  found: string | null = null;
  private held = '';

  constructor(private readonly sequences: readonly string[]) {}

  /** The text that may be shown after another piece has arrived. Empty after the sequence. */
  push(piece: string): string {
    if (this.found !== null) return '';
    if (this.sequences.length === 0) return piece;
    const text = this.held + piece;
    let end = text.length;
    for (const sequence of this.sequences) {
      const at = text.indexOf(sequence);
      if (at === -1 || at >= end) continue;
      end = at;
      this.found = sequence;
    }
    if (this.found !== null) {
      this.held = '';
      return text.slice(0, end);
    }
    const shown = text.length - this.unsure(text);
    this.held = text.slice(shown);
    return text.slice(0, shown);
  }

  /** What was held back, at the end of the text. */
  flush(): string {
    const rest = this.held;
    this.held = '';
    return rest;
  }

  /** Characters at the end that may begin a sequence. */
  private unsure(text: string): number {
    let longest = 0;
    for (const sequence of this.sequences) {
      const most = Math.min(sequence.length - 1, text.length);
      for (let length = most; length > longest; length -= 1) {
        if (sequence.startsWith(text.slice(text.length - length))) longest = length;
      }
    }
    return longest;
  }
}
