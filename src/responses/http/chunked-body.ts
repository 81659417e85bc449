import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/**
 * Writes a body of unknown length. Node makes four writes of each chunk and joins them again: once only chunks are left
 * to write, they are framed here (RFC 9112 section 7.1) in one write each, at half the cost.
 */
export class ChunkedBody {
  private hasBegun = false;

  /** `onDrain` is called when the client has caught up. */
  constructor(
    private readonly response: ServerResponse,
    private readonly onDrain: () => void,
  ) {
    response.on('drain', onDrain);
  }

  /** Writes a non-empty text. False when the client is behind: wait for `onDrain`. */
  write(text: string): boolean {
    const { response, hasBegun } = this;
    const { socket, chunkedEncoding } = response;
    this.hasBegun = true;
    // The first chunk carries the head. Without a socket the response is queued behind others of a pipelining client;
    // HTTP/1.0 has no chunks.
    if (!hasBegun || !chunkedEncoding || !(socket instanceof Socket)) return response.write(text);
    const isTaken = socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
    if (!isTaken) socket.once('drain', this.onDrain);
    return isTaken;
  }
}
