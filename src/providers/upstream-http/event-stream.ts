import { createParser, type EventSourceParser } from 'eventsource-parser';

/** A server-sent event. */
export interface StreamedEvent {
  readonly event?: string | undefined;
  readonly data: string;
}

/** Characters of one event, to bound memory. */
const LONGEST_EVENT = 64 * 1024 * 1024;

/** Parses server-sent events piece by piece and passes on each complete event. */
export class EventStreamReader {
  // Handles characters that span two pieces.
  private readonly decoder = new TextDecoder();
  private readonly parser: EventSourceParser;

  constructor(onEvent: (event: StreamedEvent) => void) {
    this.parser = createParser({
      maxBufferSize: LONGEST_EVENT,
      onEvent,
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw error;
        // Some servers send an `error:` field instead of an event.
        if (error.field === 'error') onEvent({ event: 'error', data: error.value ?? '' });
      },
    });
  }

  /** Throws if an event exceeds the limit, and what `onEvent` throws. */
  read(piece: Uint8Array): void {
    this.parser.feed(this.decoder.decode(piece, { stream: true }));
  }

  /** Parses the last event, even without the blank line after it. Throws what `onEvent` throws. */
  end(): void {
    this.parser.feed(`${this.decoder.decode()}\n\n`);
  }
}
