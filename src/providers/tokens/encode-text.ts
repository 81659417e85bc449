import { cutText } from './cut-text.js';
import { spend } from './pace.js';
import { tokenizer } from './tokenizer.js';

/**
 * The tokens of a text, a few thousand characters at a time and at the pace of all counts: other work goes on between them. Throws the
 * reason of the signal when it aborts.
 */
export async function* encodeText(text: string, signal: AbortSignal): AsyncGenerator<readonly number[]> {
  for (const chunk of cutText(text)) {
    const pause = spend(chunk.length);
    if (pause !== undefined) await pause;
    signal.throwIfAborted();
    yield tokenizer().encode(chunk);
  }
}
