import { FloorAnswer } from './floor-answer.ts';
import type { FloorEvent } from './floor-response.ts';
import type { FloorRequest } from './floor-snapshot.ts';

/** Answers as bytes, precomputed for each traffic, one chunk per turn of the event loop. */
export class PrecomputedAnswers {
  private readonly answers = new Map<string, readonly Buffer[]>();
  private readonly toBytes: (events: readonly FloorEvent[], isLast: boolean) => Buffer;

  /** `toBytes` serialises the chunk of one turn. */
  constructor(toBytes: (events: readonly FloorEvent[], isLast: boolean) => Buffer) {
    this.toBytes = toBytes;
  }

  /** Sends the answer to a request with this body. */
  send(body: string, write: (chunk: Buffer, isLast: boolean) => void): void {
    const chunks = this.chunksOf(JSON.parse(body) as FloorRequest);
    let sent = 0;
    const sendTurn = (): void => {
      const chunk = chunks[sent++];
      if (chunk === undefined) return;
      const isLast = sent === chunks.length;
      write(chunk, isLast);
      if (!isLast) setImmediate(sendTurn);
    };
    sendTurn();
  }

  private chunksOf(request: FloorRequest): readonly Buffer[] {
    const traffic = `${request.metadata.deltas} ${request.metadata.burst}`;
    let chunks = this.answers.get(traffic);
    if (chunks === undefined) this.answers.set(traffic, (chunks = this.compute(request)));
    return chunks;
  }

  private compute(request: FloorRequest): readonly Buffer[] {
    const answer = FloorAnswer.of(request);
    const chunks: Buffer[] = [];
    while (!answer.isOver) {
      const events = answer.next();
      chunks.push(this.toBytes(events, answer.isOver));
    }
    return chunks;
  }
}
