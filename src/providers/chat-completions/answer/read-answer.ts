import type { ModelSink } from '../../model-sink.js';
import { UNREADABLE } from '../../upstream-http/exchange-error.js';
import type { UpstreamAnswer } from '../../upstream-http/upstream-answer.js';
import { serverError } from '../../upstream-errors/to-model-error.js';
import type { ChunkReader } from './chunk-reader.js';
import { ChunkStream } from './chunk-stream.js';

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
  await answer.read((piece) => chunks.take(piece));
  await chunks.end();
}

/** Throws ModelError for a compressed body. */
function refuseEncoding(answer: UpstreamAnswer): void {
  const { encoding } = answer;
  if (encoding === null) return;
  answer.abort();
  throw serverError(UNREADABLE, new Error(`the answer is encoded as ${encoding}`), { retry: 'other' });
}
