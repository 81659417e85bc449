import type { ModelSink } from '../../model-sink.js';
import { refuseCompression } from '../../upstream-http/exchange-error.js';
import type { UpstreamAnswer } from '../../upstream-http/upstream-answer.js';
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
  refuseCompression(answer);
  const chunks = new ChunkStream(answer, reader, sink, secrets);
  await answer.read((piece) => chunks.take(piece));
  await chunks.end();
}
