import { isObject } from '../../../validation/index.js';
import type { ModelEvent } from '../../model-event.js';
import { peek, readEventStream, readText, type StreamedEvent, type UpstreamAnswer } from '../../upstream-http/index.js';
import { describeFailure, readFailure, serverError, toModelError, type UpstreamFailure } from '../errors/index.js';
import type { AnswerReader } from './answer-reader.js';
import type { ChatChunk } from './chat-chunk.js';

/** Behind the model's last word come its usage and the end, at once. */
const END_LIMIT_MS = 2000;

/** A completion in one piece, bytes. */
const LONGEST_COMPLETION = 64 * 1024 * 1024;

const DONE = '[DONE]';

const UNREADABLE = 'The model sent what could not be read. Please retry your request.';

/**
 * Reads an answer as batches of ModelEvents, up to its end: a stream of chunks, or a whole completion where the server does not
 * stream. Throws ModelError for an error in its place and for what is neither, and what the connection died of.
 */
export async function* readAnswer(
  answer: UpstreamAnswer,
  reader: AnswerReader,
  secrets: readonly string[],
): AsyncGenerator<readonly ModelEvent[]> {
  refuseEncoding(answer);
  const { isJson, pieces } = await peek(answer.body);
  if (isJson) {
    reader.read(parse(await readText(pieces, LONGEST_COMPLETION), secrets));
    return;
  }
  for await (const batch of readEventStream(pieces)) {
    const wasFinished = isFinished(reader);
    const { isDone, failure } = readBatch(batch, reader, secrets);
    const events = reader.take();
    if (events.length > 0) yield events;
    if (failure !== null) throw failure;
    if (isDone) {
      answer.complete();
      return;
    }
    if (!wasFinished && isFinished(reader)) answer.expectEnd(END_LIMIT_MS);
  }
}

/** Not every proxy heeds that nothing else than plain bytes was asked for. */
function refuseEncoding({ headers }: UpstreamAnswer): void {
  const encoding = String(headers['content-encoding'] ?? 'identity');
  if (encoding === 'identity') return;
  throw serverError(UNREADABLE, new Error(`the answer is encoded as ${encoding}`), { retry: 'other' });
}

/** Reads events up to the last or a failure: what was said before it is said all the same. */
function readBatch(
  batch: readonly StreamedEvent[],
  reader: AnswerReader,
  secrets: readonly string[],
): { readonly isDone: boolean; readonly failure: Error | null } {
  try {
    return { isDone: batch.some((event) => readEvent(event, reader, secrets)), failure: null };
  } catch (error) {
    return { isDone: true, failure: error as Error };
  }
}

/** Reads one event of the stream; tells whether it was the last. */
function readEvent({ event, data }: StreamedEvent, reader: AnswerReader, secrets: readonly string[]): boolean {
  if (data === '') return false;
  if (data === DONE) return true;
  if (event === 'error') throw toError(readFailure(data), secrets);
  reader.read(parse(data, secrets));
  return false;
}

/** A chunk, or a whole completion. */
function parse(json: string, secrets: readonly string[]): ChatChunk {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw serverError(UNREADABLE, cause);
  }
  if (!isObject(value)) throw serverError(UNREADABLE, new Error('a chunk is no object'));
  if (value.error != null || value.object === 'error') throw toError(describeFailure(value), secrets);
  return value;
}

function toError(failure: UpstreamFailure, secrets: readonly string[]): Error {
  return toModelError(failure.status ?? 500, failure, { secrets, retryAfterMs: undefined });
}

function isFinished({ finished }: AnswerReader): boolean {
  return finished !== undefined;
}
