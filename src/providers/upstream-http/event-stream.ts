import { createParser } from 'eventsource-parser';

/** One event of a stream: its name if it has one, and its data. */
export interface StreamedEvent {
  readonly event: string | undefined;
  readonly data: string;
}

/** Most characters of one event: a server that never ends a line must not fill the memory. */
const LONGEST_EVENT = 64 * 1024 * 1024;

/** A body of server-sent events, as batches: the events that each piece of it completes. Throws for an endless event. */
export async function* readEventStream(body: AsyncIterable<Uint8Array>): AsyncGenerator<readonly StreamedEvent[]> {
  // A character may be spread over two pieces.
  const decoder = new TextDecoder();
  let batch: StreamedEvent[] = [];
  const parser = createParser({
    maxBufferSize: LONGEST_EVENT,
    onEvent: ({ event, data }) => batch.push({ event, data }),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw error;
      // Some servers write their last words as a field of its own.
      if (error.field === 'error') batch.push({ event: 'error', data: error.value ?? '' });
    },
  });
  for await (const piece of body) {
    parser.feed(decoder.decode(piece, { stream: true }));
    if (batch.length === 0) continue;
    yield batch;
    batch = [];
  }
  // The last event counts even if the blank line behind it is missing.
  parser.feed(`${decoder.decode()}\n\n`);
  if (batch.length > 0) yield batch;
}
