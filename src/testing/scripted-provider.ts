import {
  type ModelEvent,
  type ModelInfo,
  ModelProvider,
  ModelProviderBase,
  type ModelSink,
  pumpStream,
  type Turn,
} from '../providers/index.js';

/** The answer of a scripted model to one turn. */
export type Script = (
  turn: Turn,
  options: { readonly signal: AbortSignal },
) => AsyncIterable<ModelEvent | readonly ModelEvent[]>;

const OK: readonly ModelEvent[] = [
  { type: 'text', delta: 'ok' },
  { type: 'finish', reason: 'stop' },
];

/**
 * A model with one scripted answer per turn, which records its turns. Serves any model name. A turn without a script is
 * answered with the text `ok`, or as set by `otherwise`.
 */
@ModelProvider('scripted')
export class ScriptedProvider extends ModelProviderBase {
  /** All turns, oldest first. */
  readonly turns: Turn[] = [];
  /** Whether its responses can be steered. */
  override isSteerable = false;
  /** Whether it takes files; otherwise it is given their text. */
  override takesFiles = true;
  /** Whether it takes files by their URLs; otherwise they are fetched. */
  override takesFileUrls = true;
  /** What `seesImages` answers. */
  hasEyes = true;
  private readonly scripts: (Script | readonly ModelEvent[])[] = [];
  private otherScript: Script | readonly ModelEvent[] = OK;

  override seesImages(): boolean {
    return this.hasEyes;
  }

  override async models(): Promise<readonly ModelInfo[]> {
    return [this.find('scripted')];
  }

  override find(model: string): ModelInfo {
    return { id: model, ownedBy: 'scripted', created: 1_767_225_600 };
  }

  /** Answers the next turn without a script yet with these events, in one batch; a missing `finish` is added. */
  reply(...events: readonly ModelEvent[]): this {
    const ends = events.some(({ type }) => type === 'finish');
    this.scripts.push(ends ? events : [...events, { type: 'finish', reason: 'stop' }]);
    return this;
  }

  /** Answers the next turn without a script yet with a generator. */
  play(script: Script): this {
    this.scripts.push(script);
    return this;
  }

  /** Answers every turn without a script of its own. */
  otherwise(script: Script): this {
    this.otherScript = script;
    return this;
  }

  /** Forgets its turns and scripts, so that tests which share a service each begin as with a new one. */
  reset(): this {
    this.turns.length = 0;
    this.scripts.length = 0;
    this.otherScript = OK;
    return this;
  }

  override generate(
    turn: Turn,
    options: { readonly signal: AbortSignal },
  ): AsyncIterable<ModelEvent | readonly ModelEvent[]> {
    const script = this.take(turn);
    return typeof script === 'function' ? script(turn, options) : sayOnce(script);
  }

  override async push(turn: Turn, sink: ModelSink): Promise<void> {
    const script = this.take(turn);
    if (typeof script === 'function') await pumpStream(() => script(turn, { signal: sink.signal }), sink);
    else await sink.write(script);
  }

  private take(turn: Turn): Script | readonly ModelEvent[] {
    this.turns.push(turn);
    return this.scripts.shift() ?? this.otherScript;
  }
}

async function* sayOnce(batch: readonly ModelEvent[]): AsyncGenerator<readonly ModelEvent[]> {
  yield batch;
}
