import type { UpstreamHeaders } from './exchange.js';

/** An upstream answered with another status than 2xx, or refused the handshake of a WebSocket. */
export class AnswerRefusedError extends Error {
  override readonly name = 'AnswerRefusedError';

  /** `text` is the beginning of the body; it may be empty. */
  constructor(
    readonly status: number,
    readonly headers: UpstreamHeaders,
    readonly text: string,
  ) {
    super(`HTTP ${status}`);
  }
}
