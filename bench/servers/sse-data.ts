const FRAME_END = '\n\n';
const PREFIX = 'data: ';

/** Cuts a stream of SSE frames of one data line each, as upstreams of the benchmark send them, into their data. */
export class SseData {
  private rest = '';

  /** Takes the next piece of the stream and gives the data of every frame that ends in it. */
  push(text: string, take: (data: string) => void): void {
    const all = this.rest + text;
    let start = 0;
    for (let end = all.indexOf(FRAME_END); end !== -1; end = all.indexOf(FRAME_END, start)) {
      take(all.slice(start + PREFIX.length, end));
      start = end + FRAME_END.length;
    }
    this.rest = all.slice(start);
  }
}
