/** A piece of content: text, or reasoning that stood between tags. */
export interface TaggedPiece {
  readonly isReasoning: boolean;
  readonly text: string;
}

/**
 * Splits content into text and what stands between tags such as `<think>` and `</think>`, which may arrive in pieces. A tag that is
 * never closed goes to the end; one within another is text of it. Blanks before a tag at the beginning are left out.
 */
export class TagSplitter {
  /** The beginning of what may become a tag. */
  private held = '';
  /** The tag that closes the reasoning; null in text. */
  private closing: string | null = null;
  private hasBegun = false;

  /** With the names of the tags. */
  constructor(private readonly names: readonly string[]) {}

  /** The pieces of some more content, as far as they are certain. */
  split(content: string): readonly TaggedPiece[] {
    let rest = this.held + content;
    const pieces: TaggedPiece[] = [];
    for (;;) {
      const tags = this.tags;
      const found = firstOf(tags, rest);
      if (found === undefined) {
        this.held = rest.slice(this.certainLength(rest, tags));
        this.add(pieces, rest.slice(0, rest.length - this.held.length));
        return pieces;
      }
      const before = rest.slice(0, found.at);
      if (this.hasBegun || before.trim() !== '') this.add(pieces, before);
      this.hasBegun = true;
      rest = rest.slice(found.at + found.tag.length);
      this.closing = this.closing === null ? `</${found.tag.slice(1)}` : null;
    }
  }

  /** What was held back: no tag follows. */
  end(): readonly TaggedPiece[] {
    const pieces: TaggedPiece[] = [];
    this.add(pieces, this.held);
    this.held = '';
    return pieces;
  }

  /** The tags that may come next. */
  private get tags(): readonly string[] {
    return this.closing === null ? this.names.map((name) => `<${name}>`) : [this.closing];
  }

  private add(pieces: TaggedPiece[], text: string): void {
    if (text === '') return;
    this.hasBegun = true;
    pieces.push({ isReasoning: this.closing !== null, text });
  }

  /** How much of a text without a whole tag belongs to none. */
  private certainLength(text: string, tags: readonly string[]): number {
    if (!this.hasBegun && text.trim() === '') return 0;
    const longest = Math.max(...tags.map(({ length }) => length)) - 1;
    for (let at = Math.max(0, text.length - longest); at < text.length; at++) {
      if (text.charAt(at) !== '<' || !tags.some((tag) => tag.startsWith(text.slice(at)))) continue;
      return !this.hasBegun && text.slice(0, at).trim() === '' ? 0 : at;
    }
    return text.length;
  }
}

/** The first of some tags in a text. */
function firstOf(tags: readonly string[], text: string): { readonly at: number; readonly tag: string } | undefined {
  let first: { readonly at: number; readonly tag: string } | undefined;
  for (const tag of tags) {
    const at = text.indexOf(tag);
    if (at !== -1 && (first === undefined || at < first.at)) first = { at, tag };
  }
  return first;
}
