import type { Item } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { type ConversationPlace, placeOf } from '../conversation-place.js';
import type { ModelEvent } from '../model-event.js';
import { type ModelInfo, ModelProviderBase } from '../model-provider.js';
import type { Turn } from '../turn.js';
import { type RecordedStep, Tape } from './tape.js';

/** A turn as a script has it. */
export interface RecordedTurn {
  /** What was answered. */
  readonly request: ConversationPlace;
  readonly steps: readonly RecordedStep[];
}

/** A provider as it is, but every turn it ends is handed to `keep` as a turn of a script. */
export class RecordedProvider extends ModelProviderBase {
  constructor(
    private readonly provider: ModelProviderBase,
    private readonly clock: Clock,
    private readonly keep: (turn: RecordedTurn) => void,
  ) {
    super();
  }

  override models(): Promise<readonly ModelInfo[]> {
    return this.provider.models();
  }

  override find(model: string, among: { readonly alone: boolean }): ModelInfo | undefined {
    return this.provider.find(model, among);
  }

  override countTokens(turn: Turn): Promise<number> {
    return this.provider.countTokens(turn);
  }

  override countContextTokens(items: readonly Item[]): Promise<number> {
    return this.provider.countContextTokens(items);
  }

  override countOutputTokens(output: readonly Item[]): Promise<number> {
    return this.provider.countOutputTokens(output);
  }

  /** A turn that was stopped from outside is not kept: it would replay as one that the model broke off. */
  override async *generate(
    turn: Turn,
    options: { readonly signal: AbortSignal },
  ): AsyncGenerator<ModelEvent | readonly ModelEvent[]> {
    const tape = new Tape(this.clock);
    let ended = false;
    try {
      const stream = this.provider.generate(turn, options)[Symbol.asyncIterator]();
      // Through its iterator: `for await` would take a plain list as well, which without a recording is refused.
      for await (const output of { [Symbol.asyncIterator]: () => stream }) {
        tape.add(output);
        yield output;
      }
      tape.close();
      ended = true;
    } catch (error) {
      ended = true;
      tape.fail(error);
      throw error;
    } finally {
      const isStopped = options.signal.aborted && !tape.isFinished;
      // Whoever reads a `finish` reads no further; who stops reading otherwise was told something no model may say.
      if (!ended && !isStopped && !tape.isFinished) tape.refuse();
      if (!isStopped) this.keep({ request: placeOf(turn.context), steps: tape.steps });
    }
  }
}
