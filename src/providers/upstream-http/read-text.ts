import type { UpstreamAnswer } from './upstream-answer.js';

/** Bytes of an error body. */
const LONGEST_TEXT = 1024 * 1024;

/** Collects the beginning of a body as text, up to a limit in bytes. */
export class TextCollector {
  private readonly pieces: Uint8Array[] = [];
  private length = 0;

  constructor(private readonly limit: number) {}

  get isFull(): boolean {
    return this.length >= this.limit;
  }

  get bytes(): Uint8Array {
    return Buffer.concat(this.pieces).subarray(0, this.limit);
  }

  /** Without a byte order mark. */
  get text(): string {
    return new TextDecoder().decode(this.bytes);
  }

  add(piece: Uint8Array): void {
    this.pieces.push(piece);
    this.length += piece.byteLength;
  }
}

/** Reads a body as text. Aborts the answer at `limit` bytes and returns the beginning; of a compressed body, says only that. */
export async function readText(answer: UpstreamAnswer, limit = LONGEST_TEXT): Promise<string> {
  const { compression } = answer;
  if (compression !== null) {
    answer.abort();
    return `(${compression})`;
  }
  const collector = new TextCollector(limit);
  await answer.read((piece) => {
    collector.add(piece);
    if (collector.isFull) answer.abort();
    return undefined;
  });
  return collector.text;
}
