const FRAME_END = '\n\n';
const PREFIX = 'data: ';

/** Parses a stream of SSE frames with one data line each, which is the last one. */
export class SseData {
  private rest = '';

  /** Adds a piece of the stream; returns the data of every frame that ends in it. */
  push(text: string, take: (data: string) => void): void {
    const all = this.rest + text;
    let start = 0;
    for (let end = all.indexOf(FRAME_END); end !== -1; end = all.indexOf(FRAME_END, start)) {
      take(all.slice(all.indexOf(PREFIX, start) + PREFIX.length, end));
      start = end + FRAME_END.length;
    }
    this.rest = all.slice(start);
  }
}
