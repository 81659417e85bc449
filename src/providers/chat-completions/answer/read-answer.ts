import type { ModelSink } from '../../model-sink.js';
import { type BodyForm, formOf, IS_PAGE } from '../../upstream-http/body-form.js';
import { UNREADABLE } from '../../upstream-http/exchange-error.js';
import { TextCollector } from '../../upstream-http/read-text.js';
import type { UpstreamAnswer } from '../../upstream-http/upstream-answer.js';
import { serverError } from '../../upstream-errors/to-model-error.js';
import type { ChunkReader } from './chunk-reader.js';
import { ChunkStream } from './chunk-stream.js';
import { parseChunk } from './chat-chunk.js';

/** Size of a completion that is not streamed, bytes. */
const LONGEST_COMPLETION = 64 * 1024 * 1024;

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
  refuseEncoding(answer);
  const chunks = new ChunkStream(answer, reader, sink, secrets);
  const completion = new TextCollector(LONGEST_COMPLETION);
  let form: BodyForm | undefined;
  await answer.read((piece) => {
    // Leading whitespace is ignored in both forms.
    form ??= formOf(piece);
    if (form === undefined) return undefined;
    if (form === 'events') return chunks.take(piece);
    if (form === 'page') throw serverError(UNREADABLE, new Error(IS_PAGE), { retry: 'other' });
    completion.add(piece);
    if (completion.isFull) answer.abort();
    return undefined;
  });
  if (form === 'document') {
    reader.read(parseChunk(completion.text, secrets));
    reader.conclude();
  } else {
    await chunks.end();
  }
}

/** Throws ModelError for a compressed body. */
function refuseEncoding(answer: UpstreamAnswer): void {
  const { encoding } = answer;
  if (encoding === null) return;
  answer.abort();
  throw serverError(UNREADABLE, new Error(`the answer is encoded as ${encoding}`), { retry: 'other' });
}
