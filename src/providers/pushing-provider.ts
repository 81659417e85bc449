import type { ModelEvent } from './model-event.js';
import { ModelProviderBase } from './model-provider.js';
import type { ModelSink } from './model-sink.js';
import { readPushed } from './read-pushed.js';
import type { Turn } from './turn.js';

/** A provider that implements `push`; `generate` streams what `push` writes. */
export abstract class PushingProvider extends ModelProviderBase {
  abstract override push(turn: Turn, sink: ModelSink): Promise<void>;

  override generate(
    turn: Turn,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<readonly ModelEvent[], void, undefined> {
    return readPushed((sink) => this.push(turn, sink), signal);
  }
}
