import {
  type ModelEvent,
  type ModelProviderBase,
  type ProviderRegistry,
  pushes,
  readPushed,
  type Turn,
} from '../../providers/index.js';

/** A turn on its way through the tap. */
export interface TappedTurn {
  /** What the provider itself yields, one event at a time; it is asked when the first is read. */
  readonly events: AsyncGenerator<ModelEvent, void, undefined>;
  readonly signal: AbortSignal;
  /** Resolves when the case is over: what hangs must not do so for longer. */
  readonly over: Promise<undefined>;
}

/** What becomes of a provider's events. */
export type Behaviour = (turn: TappedTurn) => AsyncIterable<unknown>;

/** What was seen of a provider in one turn. */
export class WatchedTurn {
  /** What the service was given to tell it that nobody wants the answer any more. */
  signal: AbortSignal | null = null;
  turn: Turn | null = null;
  /** Whether it looked at what was said before: the context, or the parent whose state its upstream keeps. */
  looksBack = false;
  private readonly first = Promise.withResolvers<undefined>();
  private readonly last = Promise.withResolvers<undefined>();

  /** Resolves when the provider said something, or ended. */
  readonly begun = this.first.promise;
  /** Resolves when the provider's stream has ended, however it did. */
  readonly ended = this.last.promise;

  constructor(readonly behaviour: Behaviour) {}

  /** The provider's events, flat. */
  async *read(provider: () => AsyncIterable<ModelEvent | readonly ModelEvent[]>): TappedTurn['events'] {
    try {
      for await (const batch of provider()) {
        this.first.resolve(undefined);
        yield* Array.isArray(batch) ? (batch as readonly ModelEvent[]) : [batch as ModelEvent];
      }
    } finally {
      this.first.resolve(undefined);
      this.last.resolve(undefined);
    }
  }

  /** The turn as the provider gets it. */
  watch(turn: Turn): Turn {
    this.turn = turn;
    const { parent } = turn;
    const watchedParent =
      parent === null ? null : new Proxy(parent, { get: (target, member) => this.look(target, member) });
    return new Proxy(turn, {
      get: (target, member) => {
        if (member === 'parent') return watchedParent;
        return member === 'context' ? this.look(target, member) : (Reflect.get(target, member) as unknown);
      },
    });
  }

  private look(target: object, member: PropertyKey): unknown {
    this.looksBack = true;
    return Reflect.get(target, member);
  }
}

/** Stands between the service and its providers, sees what they do, and can spoil it. */
export class ProviderTap {
  private readonly expected: WatchedTurn[] = [];
  private readonly watched: WatchedTurn[] = [];
  private readonly tapped = new WeakSet<ModelProviderBase>();
  private readonly over = Promise.withResolvers<undefined>();

  constructor(registry: ProviderRegistry) {
    const route = registry.route.bind(registry);
    registry.route = (model) => {
      const found = route(model);
      this.tap(found.provider);
      return found;
    };
  }

  /** Watches the next turn that has no watcher yet, and lets its provider behave in this way. */
  next(behaviour: Behaviour = ({ events }) => events): WatchedTurn {
    const watched = new WatchedTurn(behaviour);
    this.expected.push(watched);
    return watched;
  }

  /** Ends what hangs, and resolves when the stream of every turn that a provider began has ended. */
  async settle(): Promise<void> {
    this.over.resolve(undefined);
    await Promise.all(this.watched.map(({ ended }) => ended));
  }

  private tap(provider: ModelProviderBase): void {
    if (this.tapped.has(provider)) return;
    this.tapped.add(provider);
    const generate = streamOf(provider);
    provider.generate = (turn, options) => {
      const watched = this.expected.shift() ?? new WatchedTurn(({ events }) => events);
      watched.signal = options.signal;
      const seen = watched.watch(turn);
      const events = watched.read(() => {
        this.watched.push(watched);
        return generate(seen, options);
      });
      const stream = watched.behaviour({ events, signal: options.signal, over: this.over.promise });
      return isReadable(stream) ? endWith(stream, events) : (stream as ReturnType<typeof generate>);
    };
  }
}

/** A provider's stream in the form in which it is asked: what it pushes, where it pushes. */
function streamOf(provider: ModelProviderBase): ModelProviderBase['generate'] {
  if (!pushes(provider)) return provider.generate.bind(provider);
  return (turn, { signal }) => readPushed((sink) => provider.push(turn, sink), signal);
}

/** A provider's own stream must not outlive what became of it. */
async function* endWith(
  stream: AsyncIterable<unknown>,
  events: TappedTurn['events'],
): AsyncGenerator<ModelEvent, void, undefined> {
  try {
    yield* stream as AsyncIterable<ModelEvent>;
  } finally {
    await events.return();
  }
}

function isReadable(stream: unknown): boolean {
  return typeof stream === 'object' && stream !== null && Symbol.asyncIterator in stream;
}
