import { parseJson } from '../../../validation/index.js';
import type { ModelSink } from '../../model-sink.js';
import { serverError } from '../../upstream-errors/to-model-error.js';
import { IS_PAGE } from '../../upstream-http/body-form.js';
import { BodyReader } from '../../upstream-http/body-reader.js';
import type { StreamedEvent } from '../../upstream-http/event-stream.js';
import { notUnderstood, refuseCompression, UNREADABLE } from '../../upstream-http/exchange-error.js';
import type { UpstreamAnswer } from '../../upstream-http/upstream-answer.js';
import type { ChunkReader } from './chunk-reader.js';
import { ChunkParser } from './chunk-parser.js';
import { isIdle, parseChunks, parseError } from './chat-chunk.js';

/** Time from the finish reason to the end of the stream, ms. Only the usage and the end follow it. */
const END_LIMIT_MS = 2000;

const DONE = '[DONE]';

const LIST = /^\s*\[/;

/** Characters of words that the log quotes. */
const LONGEST_WORDS = 200;

/**
 * Reads an answer to its end. Chunks of a stream are written into the sink as they arrive; the events of a completion that is not
 * streamed stay in the reader. Rejects with ModelError for an error object, invalid JSON or a web page, and with the error of a broken
 * connection.
 */
export async function readAnswer(
  answer: UpstreamAnswer,
  reader: ChunkReader,
  sink: ModelSink,
  secrets: readonly string[],
): Promise<void> {
  refuseCompression(answer);
  const chunks = new ChunkStream(answer, reader, sink, secrets);
  await answer.read((piece) => chunks.take(piece));
  await chunks.end();
}

/** Reads a stream of chunks from an upstream into a sink. The events of a document stay in the reader. */
class ChunkStream {
  private readonly body = new BodyReader((event) => this.readEvent(event));
  private readonly chunks: ChunkParser;
  private isDone = false;
  /** Data that held no part of the answer, if nothing but the end follows it. */
  private words: string | null = null;

  constructor(
    private readonly answer: UpstreamAnswer,
    private readonly reader: ChunkReader,
    private readonly sink: ModelSink,
    private readonly secrets: readonly string[],
  ) {
    this.chunks = new ChunkParser(secrets);
  }

  /**
   * Writes the events of a piece. A returned promise signals backpressure and rejects with the upstream's ModelError. Throws ModelError for a
   * web page.
   */
  take(piece: Uint8Array): Promise<void> | undefined {
    const { answer, reader, sink, body } = this;
    const waiting = this.write(piece);
    if (body.form === 'page') throw notUnderstood('a web page', IS_PAGE);
    if (this.isDone) answer.complete();
    else if (sink.isClosed || body.isFull) answer.abort();
    else if (reader.isOver) answer.limitRest(END_LIMIT_MS);
    else if (reader.hasGoneOn) answer.liftRest();
    return waiting;
  }

  /** Writes the events that remain after the end of the body. Throws ModelError for a document that is none of Chat Completions. */
  end(): Promise<void> | undefined {
    const { body, reader, secrets } = this;
    if (body.form !== 'document') return this.write(null);
    for (const chunk of parseChunks(body.document, secrets)) reader.read(chunk);
    reader.conclude();
    return undefined;
  }

  /** Writes the events of a piece, or without one those after the last. */
  private write(piece: Uint8Array | null): Promise<void> | undefined {
    let failure: { readonly error: unknown } | null = null;
    try {
      if (piece === null) this.readEnd();
      else this.body.read(piece);
    } catch (error) {
      failure = { error };
    }
    const batch = this.reader.take();
    const waiting = batch.length > 0 ? this.sink.write(batch) : undefined;
    // Events before a failure still reach the client.
    return failure === null ? waiting : failBehind(waiting, failure.error);
  }

  private readEvent({ event, data }: StreamedEvent): void {
    if (this.isDone || data.trim() === '') return;
    if (data.trim() === DONE) {
      this.isDone = true;
      // Words may be why the answer has no finish reason: then it is not complete.
      if (this.words === null) this.reader.conclude();
    } else if (event === 'error') {
      throw parseError(data, this.secrets);
    } else if (data.includes('\n') && parseJson(data) === undefined) {
      // Events without a blank line between them.
      for (const line of data.split('\n')) this.readEvent({ event, data: line });
    } else if (isIdle(data)) {
      this.words = data;
    } else {
      this.readChunks(data);
      // The answer goes on, so the words before were a heartbeat.
      this.words = null;
    }
  }

  private readChunks(data: string): void {
    if (!LIST.test(data)) this.reader.read(this.chunks.parse(data));
    else for (const chunk of parseChunks(data, this.secrets)) this.reader.read(chunk);
  }

  /** Throws ModelError if the answer ended with words instead of a finish reason. */
  private readEnd(): void {
    this.body.end();
    if (this.words === null || this.reader.finished !== undefined) return;
    throw serverError(UNREADABLE, new Error(`the stream ended after '${this.words.slice(0, LONGEST_WORDS)}'`));
  }
}

async function failBehind(waiting: Promise<void> | undefined, error: unknown): Promise<never> {
  await waiting;
  throw error;
}
