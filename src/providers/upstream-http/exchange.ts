import type { Dispatcher } from 'undici';

import type { Clock } from '../../time/index.js';
import type { Patience } from './patience.js';

/** What may still come behind the end of an answer: the last chunk of the HTTP body, and not much more. */
const MOST_REST_BYTES = 64 * 1024;
const MOST_REST_MS = 1000;

/** The body of one answer, read piece by piece. */
export class Exchange {
  private isComplete = false;

  constructor(
    private readonly body: Dispatcher.ResponseData['body'],
    private readonly patience: Patience,
    private readonly clock: Clock,
  ) {
    // Destroying an unread body is an error to undici, and one that nobody listens to would end the process.
    body.on('error', () => undefined);
  }

  /** Everything that matters was read. */
  complete(): void {
    this.isComplete = true;
  }

  async *read(): AsyncGenerator<Uint8Array> {
    const { body, patience } = this;
    try {
      for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
        patience.heard();
        yield piece;
        patience.listen();
      }
    } catch (error) {
      throw patience.signal.aborted ? patience.signal.reason : error;
    } finally {
      patience.end();
      if (this.isComplete) this.drain();
      else body.destroy();
    }
  }

  /** A connection whose body was read to the end serves the next request; one that was cut off is lost. */
  private drain(): void {
    const { body } = this;
    if (body.readableEnded || body.destroyed) return;
    const timer = this.clock.schedule(MOST_REST_MS, () => body.destroy());
    let bytes = 0;
    body
      .once('close', () => timer.cancel())
      .on('data', (piece: Uint8Array) => {
        bytes += piece.byteLength;
        if (bytes > MOST_REST_BYTES) body.destroy();
      });
  }
}
