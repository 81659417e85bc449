import type { ModelSink } from '../../model-sink.js';
import { beginsJson } from '../../upstream-http/begins-json.js';
import { TextCollector } from '../../upstream-http/read-text.js';
import type { UpstreamAnswer } from '../../upstream-http/upstream-answer.js';
import { serverError } from '../../upstream-errors/to-model-error.js';
import type { AnswerReader } from './answer-reader.js';
import { ChunkStream } from './chunk-stream.js';
import { parseChunk, UNREADABLE } from './parse-chunk.js';

/** Size of a completion that is not streamed, bytes. */
const LONGEST_COMPLETION = 64 * 1024 * 1024;

/**
 * Reads an answer to its end. Chunks of a stream are written into the sink as they arrive; the events of a completion that is not
 * streamed stay in the reader. Rejects with ModelError for an error object or invalid JSON, and with the error of a broken
 * connection.
 */
export async function readAnswer(
  answer: UpstreamAnswer,
  reader: AnswerReader,
  sink: ModelSink,
  secrets: readonly string[],
): Promise<void> {
  refuseEncoding(answer);
  const chunks = new ChunkStream(answer, reader, sink, secrets);
  const completion = new TextCollector(LONGEST_COMPLETION);
  let isJson: boolean | undefined;
  await answer.read((piece) => {
    // Leading whitespace is ignored in both forms.
    isJson ??= beginsJson(piece);
    if (isJson === undefined) return undefined;
    if (!isJson) return chunks.take(piece);
    completion.add(piece);
    if (completion.isFull) answer.abort();
    return undefined;
  });
  if (isJson === true) {
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
