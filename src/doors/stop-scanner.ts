/** Characters of a stop sequence, which are held back in every stream that waits for it. */
export const LONGEST_STOP = 1000;

/**
 * Cuts a text behind which a stop sequence would follow. The Responses API has none, so that models are not told of them: their text is
 * searched while it passes. What may be the beginning of a sequence is held back until the rest shows. The sequence that is complete first
 * counts, of several the longest, so that a cut does not depend on the pieces in which a text comes.
 */
export class StopScanner {
  /** The sequence that was found; null while there is none. */
  found: string | null = null;
  private held = '';
  private readonly searches: readonly SequenceSearch[];

  constructor(sequences: readonly string[]) {
    this.searches = sequences.map((sequence) => new SequenceSearch(sequence));
  }

  /** Whether all of the text is shown: none is held back, and none is cut off. */
  get isCaughtUp(): boolean {
    return this.found === null && this.held === '';
  }

  /** The text that may be shown after another piece has arrived. Empty after the sequence. */
  push(piece: string): string {
    if (this.found !== null) return '';
    if (this.searches.length === 0) return piece;
    const text = this.held + piece;
    let end = piece.length;
    for (const search of this.searches) {
      const at = search.push(piece, end);
      if (at === null || (at === end && this.found !== null && this.found.length >= search.sequence.length)) continue;
      end = at;
      this.found = search.sequence;
    }
    const shown =
      this.found === null
        ? text.length - Math.max(...this.searches.map(({ matched }) => matched))
        : this.held.length + end - this.found.length;
    this.held = this.found === null ? text.slice(shown) : '';
    return text.slice(0, shown);
  }

  /** Returns the rest that was held back, at the end of the text. The next piece begins another text. */
  flush(): string {
    const rest = this.held;
    this.held = '';
    for (const search of this.searches) search.matched = 0;
    return rest;
  }
}

/** Searches one sequence as Knuth, Morris and Pratt do: no sequence and no text makes a character cost more than a constant. */
class SequenceSearch {
  /** How much of the sequence the end of the text is. */
  matched = 0;
  /** How much of it still matches where the character behind a length does not, by that length. */
  private readonly shorter: readonly number[];

  constructor(readonly sequence: string) {
    const shorter = [0, 0];
    for (let at = 1; at < sequence.length; at += 1) {
      let length = shorter[at] ?? 0;
      while (length > 0 && sequence[at] !== sequence[length]) length = shorter[length] ?? 0;
      shorter.push(sequence[at] === sequence[length] ? length + 1 : 0);
    }
    this.shorter = shorter;
  }

  /** Goes on with the characters of a piece, up to `end`. Returns where the sequence ends in it, or null. */
  push(piece: string, end: number): number | null {
    const { sequence, shorter } = this;
    for (let at = 0; at < end; at += 1) {
      if (this.matched === 0) {
        at = piece.indexOf(sequence.charAt(0), at);
        if (at === -1 || at >= end) return null;
      }
      while (this.matched > 0 && piece[at] !== sequence[this.matched]) this.matched = shorter[this.matched] ?? 0;
      if (piece[at] === sequence[this.matched]) this.matched += 1;
      if (this.matched === sequence.length) return at + 1;
    }
    return null;
  }
}
