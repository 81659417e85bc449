import { createParser, type EventSourceParser } from 'eventsource-parser';

/** One event of a stream: its name if it has one, and its data. */
export interface StreamedEvent {
  readonly event?: string | undefined;
  readonly data: string;
}

/** Most characters of one event: a server that never ends a line must not fill the memory. */
const LONGEST_EVENT = 64 * 1024 * 1024;

/** Reads a body of server-sent events piece by piece, and hands over each event once it is complete. */
export class EventStreamReader {
  // A character may be spread over two pieces.
  private readonly decoder = new TextDecoder();
  private readonly parser: EventSourceParser;

  constructor(onEvent: (event: StreamedEvent) => void) {
    this.parser = createParser({
      maxBufferSize: LONGEST_EVENT,
      onEvent,
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw error;
        // Some servers write their last words as a field of its own.
        if (error.field === 'error') onEvent({ event: 'error', data: error.value ?? '' });
      },
    });
  }

  /** Throws for an endless event, and what `onEvent` throws. */
  read(piece: Uint8Array): void {
    this.parser.feed(this.decoder.decode(piece, { stream: true }));
  }

  /** The last event counts even if the blank line behind it is missing. Throws what `onEvent` throws. */
  end(): void {
    this.parser.feed(`${this.decoder.decode()}\n\n`);
  }
}
