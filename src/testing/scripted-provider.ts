import { ModelProvider, ModelProviderBase, type ModelEvent, type ModelInfo, type Turn } from '../providers/index.js';

/** How a scripted model answers one turn. */
export type Script = (
  turn: Turn,
  options: { readonly signal: AbortSignal },
) => AsyncIterable<ModelEvent | readonly ModelEvent[]>;

/**
 * A model that answers what a test tells it to, one script per turn, and remembers what it was asked. Serves any model
 * name. A turn without a script is answered with the text `ok`, or as `otherwise` says.
 */
@ModelProvider('scripted')
export class ScriptedProvider extends ModelProviderBase {
  /** Every turn it was asked, oldest first. */
  readonly turns: Turn[] = [];
  private readonly scripts: Script[] = [];
  private otherScript: Script = () => sayOk();

  override async models(): Promise<readonly ModelInfo[]> {
    return [this.find('scripted')];
  }

  override find(model: string): ModelInfo {
    return { id: model, ownedBy: 'scripted', created: 1_767_225_600 };
  }

  /** Answers the next turn without a script yet with these events, in one batch; `finish` is added when it is missing. */
  reply(...events: readonly ModelEvent[]): this {
    const ends = events.some(({ type }) => type === 'finish');
    const batch: readonly ModelEvent[] = ends ? events : [...events, { type: 'finish', reason: 'stop' }];

    return this.play(async function* () {
      yield batch;
    });
  }

  /** Answers the next turn without a script yet with a generator of the test's own. */
  play(script: Script): this {
    this.scripts.push(script);
    return this;
  }

  /** Answers every turn that has no script of its own. */
  otherwise(script: Script): this {
    this.otherScript = script;
    return this;
  }

  override generate(
    turn: Turn,
    options: { readonly signal: AbortSignal },
  ): AsyncIterable<ModelEvent | readonly ModelEvent[]> {
    this.turns.push(turn);
    const script = this.scripts.shift() ?? this.otherScript;
    return script(turn, options);
  }
}

async function* sayOk(): AsyncGenerator<readonly ModelEvent[]> {
  yield [
    { type: 'text', delta: 'ok' },
    { type: 'finish', reason: 'stop' },
  ];
}
