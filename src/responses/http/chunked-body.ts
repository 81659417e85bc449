import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/**
 * Writes the body of an answer whose length nobody knows. Node makes four writes of each chunk, and joins them again: where
 * nothing but chunks is left to write, they are framed here (RFC 9112 section 7.1), each in one write, for half the price.
 */
export class ChunkedBody {
  private hasBegun = false;

  /** `onDrain` is called when a client has caught up that was behind. */
  constructor(
    private readonly response: ServerResponse,
    private readonly onDrain: () => void,
  ) {
    response.on('drain', onDrain);
  }

  /** Writes a piece of text that is not empty. False when the client is behind: nothing should follow before `onDrain`. */
  write(text: string): boolean {
    const { response, hasBegun } = this;
    const { socket, chunkedEncoding } = response;
    this.hasBegun = true;
    // The first piece takes the head along. Without a socket it waits behind other answers of a pipelining client; and a client
    // of HTTP/1.0 knows no chunks.
    if (!hasBegun || !chunkedEncoding || !(socket instanceof Socket)) return response.write(text);
    const isTaken = socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
    if (!isTaken) socket.once('drain', this.onDrain);
    return isTaken;
  }
}
