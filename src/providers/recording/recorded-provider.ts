import type { Item } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { type TranscriptPlace, placeOf } from '../transcripts/index.js';
import { askProvider } from '../ask-provider.js';
import type { ModelEvent } from '../model-event.js';
import type { ModelInfo, ModelProviderBase } from '../model-provider.js';
import type { ModelSink, UpstreamAttempt, UpstreamNotice } from '../model-sink.js';
import { PushingProvider } from '../pushing-provider.js';
import type { CountOptions } from '../tokens/index.js';
import type { Turn } from '../turn.js';
import { type RecordedStep, Tape } from './tape.js';

/** A recorded turn, in the form of a script's turn. */
export interface RecordedTurn {
  /** Identifies the transcript that was answered. */
  readonly request: TranscriptPlace;
  readonly steps: readonly RecordedStep[];
}

/** Wraps a provider, and records the turns that somebody takes when they begin: `openFor` gives what takes them when they are finished. */
export class RecordedProvider extends PushingProvider {
  override readonly hostedTools: ModelProviderBase['hostedTools'];
  override readonly compactsContexts: boolean;
  override readonly hasTokenizer: boolean;
  override readonly readsForeignSeals: boolean;
  override readonly takesOpaqueData: boolean;
  override readonly isSteerable: boolean;
  override readonly takesFiles: boolean;
  override readonly takesFileUrls: boolean;

  constructor(
    private readonly provider: ModelProviderBase,
    private readonly clock: Clock,
    private readonly openFor: (turn: Turn) => ((recorded: RecordedTurn) => void) | undefined,
  ) {
    super();
    this.hostedTools = provider.hostedTools;
    this.compactsContexts = provider.compactsContexts;
    this.hasTokenizer = provider.hasTokenizer;
    this.readsForeignSeals = provider.readsForeignSeals;
    this.takesOpaqueData = provider.takesOpaqueData;
    this.takesFiles = provider.takesFiles;
    this.takesFileUrls = provider.takesFileUrls;
    this.isSteerable = provider.isSteerable;
  }

  override models(): Promise<readonly ModelInfo[]> {
    return this.provider.models();
  }

  override seesImages(model: string): boolean {
    return this.provider.seesImages(model);
  }

  override find(model: string, among: { readonly alone: boolean }): ModelInfo | undefined {
    return this.provider.find(model, among);
  }

  override countTokens(turn: Turn, options?: CountOptions): Promise<number> {
    return this.provider.countTokens(turn, options);
  }

  override countContextTokens(items: readonly Item[], options?: CountOptions): Promise<number> {
    return this.provider.countContextTokens(items, options);
  }

  override countOutputTokens(output: readonly Item[], options?: CountOptions): Promise<number> {
    return this.provider.countOutputTokens(output, options);
  }

  /** Turns that were stopped by the service or the client are not saved: their replay would end early. */
  override async push(turn: Turn, sink: ModelSink): Promise<void> {
    const save = this.openFor(turn);
    if (save === undefined) return askProvider(this.provider, turn, sink);
    const tape = new Tape(this.clock);
    const recording = new RecordingSink(sink, tape);
    try {
      await askProvider(this.provider, turn, recording);
      if (!recording.isStopped) tape.close();
    } catch (error) {
      if (!recording.isStopped) tape.fail(error);
      throw error;
    } finally {
      if (!recording.isStopped) save({ request: placeOf(turn.context), steps: tape.steps });
    }
  }
}

/** Records the events that are written into a sink. */
class RecordingSink implements ModelSink {
  /** What was told before the output; it is recorded with that. */
  private told: ModelEvent[] = [];

  constructor(
    private readonly sink: ModelSink,
    private readonly tape: Tape,
  ) {}

  get signal(): AbortSignal {
    return this.sink.signal;
  }

  get isClosed(): boolean {
    return this.sink.isClosed;
  }

  /** Whether the sink closed before the end of the answer. */
  get isStopped(): boolean {
    return this.sink.isClosed && !this.tape.isFinished;
  }

  write(batch: readonly ModelEvent[]): Promise<void> | undefined {
    if (this.sink.isClosed) return this.sink.write(batch);
    const told = batch.length === 0 ? [] : this.told.splice(0);
    this.tape.add([...told, ...batch]);
    const waiting = this.sink.write(this.sink.head === undefined ? [...told, ...batch] : batch);
    if (waiting !== undefined) return this.wait(waiting);
    this.noticeRefusal();
    return undefined;
  }

  head(events: readonly ModelEvent[], isWhole: boolean): void {
    this.told = [...events];
    this.sink.head?.(events, isWhole);
  }

  attempted(attempt: UpstreamAttempt): void {
    this.sink.attempted?.(attempt);
  }

  repeated(errorCode: string, failedAt: number): void {
    this.sink.repeated?.(errorCode, failedAt);
  }

  notice(notice: UpstreamNotice): void {
    this.sink.notice?.(notice);
  }

  private async wait(waiting: Promise<void>): Promise<void> {
    await waiting;
    this.noticeRefusal();
  }

  /** A sink that closes without an abort and without a `finish` has rejected an invalid event. */
  private noticeRefusal(): void {
    if (this.isStopped && !this.sink.signal.aborted) this.tape.refuse();
  }
}
