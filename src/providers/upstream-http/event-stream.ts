import { createParser, type EventSourceParser } from 'eventsource-parser';

/** A server-sent event. */
export interface StreamedEvent {
  readonly event?: string | undefined;
  readonly data: string;
}

/** Characters of one event, or of a line that is one, to bound memory. */
export const LONGEST_EVENT = 64 * 1024 * 1024;

/** The end of a JSON text and of its line, where the next line begins another one: JSON goes on only with a comma or a bracket. */
const TIGHT = /(\}[ \t]{0,8})(\r\n|[\r\n])(?=data:[ \t]{0,8}[^,\]}\s])/g;

/** The name of the field that a server wrote a second time, before it gave its event to a library that writes it too. */
const DOUBLED = /^(?:data:[ \t]*)+/;

/** What may become such an end with the next piece. */
const TIGHT_SO_FAR = /^\}[ \t]{0,8}(?:\r\n?|\n)?(?:d(?:a(?:t(?:a(?::[ \t]{0,8})?)?)?)?)?$/;

/**
 * Parses server-sent events piece by piece and passes on each complete event. Events of JSON need no blank line between them, since some
 * servers leave it out.
 */
export class EventStreamReader {
  // Handles characters that span two pieces.
  private readonly decoder = new TextDecoder();
  private readonly parser: EventSourceParser;
  /** The end of the text so far, if the next piece decides whether an event ends there. */
  private undecided = '';

  constructor(onEvent: (event: StreamedEvent) => void) {
    this.parser = createParser({
      maxBufferSize: LONGEST_EVENT,
      onEvent: (event) =>
        onEvent(event.data.startsWith('data:') ? { ...event, data: withoutField(event.data) } : event),
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw error;
        // Some servers send an `error:` field instead of an event.
        if (error.field === 'error') onEvent({ event: 'error', data: error.value ?? '' });
      },
    });
  }

  /** Throws if an event exceeds the limit, and what `onEvent` throws. */
  read(piece: Uint8Array): void {
    const text = this.undecided + this.decoder.decode(piece, { stream: true });
    const brace = text.lastIndexOf('}');
    this.undecided = brace !== -1 && TIGHT_SO_FAR.test(text.slice(brace)) ? text.slice(brace) : '';
    const decided = this.undecided === '' ? text : text.slice(0, brace);
    // Not for an event that comes alone: the search costs more than all else here.
    const mayBeTight = decided.includes('data:', 1);
    this.parser.feed(mayBeTight ? decided.replace(TIGHT, '$1$2$2') : decided);
  }

  /** Parses the last event, even without the blank line after it. Throws what `onEvent` throws. */
  end(): void {
    this.parser.feed(`${this.undecided}${this.decoder.decode()}\n\n`);
  }
}

/** The data of an event without a name of the field in it. */
export function withoutField(data: string): string {
  return data.replace(DOUBLED, '');
}
