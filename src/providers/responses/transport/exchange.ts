/** Headers of an upstream; names in lower case. */
export type UpstreamHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Reads an answer. */
export interface AnswerTaker {
  /** Takes the JSON text of an event. Returns whether the answer is over; later texts belong to no one. */
  take(json: string): boolean;
  /** Called after the events that arrived together. Reading goes on when a returned promise resolves; it never rejects. */
  flush(): Promise<void> | undefined;
}

/** A request that was sent, and its answer, over SSE, a WebSocket or from a file. */
export interface Exchange {
  readonly transport: 'sse' | 'websocket';
  /** The headers of the answer, or of the socket's handshake. */
  readonly headers: UpstreamHeaders;

  /**
   * Passes the answer on until the taker says that it is over. Rejects with UpstreamError when it ends before that, when nothing
   * arrives for the idle timeout, and when the connection breaks; with the reason of the signal when that aborts. Called once.
   */
  read(taker: AnswerTaker): Promise<void>;

  /** Closes the connection at once, without ceremony: the answer will not be read to its end. */
  abort(): void;
}

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
