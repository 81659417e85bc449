import type { ModelEvent } from './model-event.js';
import { ModelProviderBase } from './model-provider.js';
import type { ModelSink } from './model-sink.js';
import { readPushed } from './read-pushed.js';
import type { Turn } from './turn.js';

/** A provider that only pushes. Whoever asks for its `generate`, such as a subclass that changes it, reads what is pushed. */
export abstract class PushingProvider extends ModelProviderBase {
  abstract override push(turn: Turn, sink: ModelSink): Promise<void>;

  override generate(
    turn: Turn,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<readonly ModelEvent[], void, undefined> {
    return readPushed((sink) => this.push(turn, sink), signal);
  }
}
