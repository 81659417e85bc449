import type { ModelSink } from '../../model-sink.js';
import { TextCollector, type UpstreamAnswer } from '../../upstream-http/index.js';
import { serverError } from '../errors/index.js';
import type { AnswerReader } from './answer-reader.js';
import { ChunkStream } from './chunk-stream.js';
import { parseChunk, UNREADABLE } from './parse-chunk.js';

/** A completion in one piece, bytes. */
const LONGEST_COMPLETION = 64 * 1024 * 1024;

const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const BRACE = 0x7b;
const BRACKET = 0x5b;

/**
 * Reads an answer up to its end: a stream of chunks is written into the sink as it comes; a whole completion, where the server
 * does not stream, waits in the reader. Rejects with ModelError for an error in its place and for what is neither, and with what
 * the connection died of.
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
    // Blanks in front mean nothing in either form.
    isJson ??= beginsJson(piece);
    if (isJson === undefined) return undefined;
    if (!isJson) return chunks.take(piece);
    completion.add(piece);
    if (completion.isFull) answer.abort();
    return undefined;
  });
  if (isJson === true) reader.read(parseChunk(completion.text, secrets));
  else await chunks.end();
}

/** Not every proxy heeds that nothing else than plain bytes was asked for. */
function refuseEncoding(answer: UpstreamAnswer): void {
  const encoding = String(answer.headers['content-encoding'] ?? 'identity');
  if (encoding === 'identity') return;
  answer.abort();
  throw serverError(UNREADABLE, new Error(`the answer is encoded as ${encoding}`), { retry: 'other' });
}

/**
 * Whether a body is a JSON document and no stream of events, by its first letter: what it calls itself is not always true.
 * Undefined where there are only blanks.
 */
function beginsJson(piece: Uint8Array): boolean | undefined {
  const first = piece.find((byte) => !BLANKS.has(byte));
  return first === undefined ? undefined : first === BRACE || first === BRACKET;
}
