import type { Item } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { type TranscriptPlace, placeOf } from '../transcripts/index.js';
import { askProvider } from '../ask-provider.js';
import type { ModelInfo, ModelProviderBase } from '../model-provider.js';
import type { ModelSink } from '../model-sink.js';
import { PushingProvider } from '../pushing-provider.js';
import type { Turn } from '../turn.js';
import { RecordingSink } from './recording-sink.js';
import { type RecordedStep, Tape } from './tape.js';

/** A turn as a script has it. */
export interface RecordedTurn {
  /** What was answered. */
  readonly request: TranscriptPlace;
  readonly steps: readonly RecordedStep[];
}

/** A provider as it is, but every turn it ends is handed to `keep` as a turn of a script. */
export class RecordedProvider extends PushingProvider {
  constructor(
    private readonly provider: ModelProviderBase,
    private readonly clock: Clock,
    private readonly save: (turn: RecordedTurn) => void,
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
  override async push(turn: Turn, sink: ModelSink): Promise<void> {
    const tape = new Tape(this.clock);
    const recording = new RecordingSink(sink, tape);
    try {
      await askProvider(this.provider, turn, recording);
      if (!recording.isStopped) tape.close();
    } catch (error) {
      if (!recording.isStopped) tape.fail(error);
      throw error;
    } finally {
      if (!recording.isStopped) this.save({ request: placeOf(turn.context), steps: tape.steps });
    }
  }
}
