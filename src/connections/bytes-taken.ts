import type { Duplex } from 'node:stream';

/** Members of `net.Socket` beyond its declared types. */
type NetInternals = Duplex & {
  readonly bytesWritten?: number;
  readonly _handle?: { readonly writeQueueSize?: number } | null;
};

/**
 * Bytes that the peer of a socket has taken so far, or null when nothing is pending. `collected` bytes are still to be
 * written to it.
 */
export function bytesTaken(stream: Duplex, collected = 0): number | null {
  // Only the handle reports the progress of a large write; net's own inactivity timer uses it too.
  const { bytesWritten = 0, _handle: handle } = stream as NetInternals;
  const inFlight = handle?.writeQueueSize ?? 0;
  const waiting = stream.writableLength + collected;
  return waiting === 0 && inFlight === 0 ? null : bytesWritten + collected - Math.max(waiting, inFlight);
}
