import {
  type ModelEvent,
  type ModelProviderBase,
  type ProviderRegistry,
  pushes,
  readPushed,
  type Turn,
} from '../../providers/index.js';

/** A turn that is intercepted. */
export interface TappedTurn {
  /** The provider's own events, one at a time; it is called when the first is read. */
  readonly events: AsyncGenerator<ModelEvent, void, undefined>;
  readonly signal: AbortSignal;
  /** Resolves when the case is over, to end hanging behaviours. */
  readonly over: Promise<undefined>;
}

/** Maps a provider's events. */
export type Behaviour = (turn: TappedTurn) => AsyncIterable<unknown>;

/** A provider's turn as it was observed. */
export class WatchedTurn {
  /** The abort signal of the turn. */
  signal: AbortSignal | null = null;
  turn: Turn | null = null;
  /** Whether the provider read the context, or the parent whose state its upstream has. */
  looksBack = false;
  private readonly first = Promise.withResolvers<undefined>();
  private readonly last = Promise.withResolvers<undefined>();

  /** Resolves at the first event or the end of the provider's stream. */
  readonly begun = this.first.promise;
  /** Resolves at the end of the provider's stream. */
  readonly ended = this.last.promise;

  constructor(readonly behaviour: Behaviour) {}

  /** The provider's events, one at a time. */
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

  /** The turn for the provider, with access to its context recorded. */
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

/** Intercepts the calls between the service and its providers, observes them and can replace events. */
export class ProviderTap {
  private readonly pending: WatchedTurn[] = [];
  private readonly watched: WatchedTurn[] = [];
  private readonly tapped = new WeakSet<ModelProviderBase>();
  private over = Promise.withResolvers<undefined>();

  constructor(registry: ProviderRegistry) {
    const route = registry.route.bind(registry);
    registry.route = (model) => {
      const found = route(model);
      this.tap(found.provider);
      return found;
    };
  }

  /** Observes the next turn that is not observed yet, and applies a behaviour to it. */
  next(behaviour: Behaviour = ({ events }) => events): WatchedTurn {
    const watched = new WatchedTurn(behaviour);
    this.pending.push(watched);
    return watched;
  }

  /** Ends hanging behaviours; resolves when all streams of providers have ended. What comes then belongs to another case. */
  async settle(): Promise<void> {
    this.over.resolve(undefined);
    await Promise.all(this.watched.map(({ ended }) => ended));
    this.over = Promise.withResolvers();
    this.watched.length = 0;
    this.pending.length = 0;
  }

  private tap(provider: ModelProviderBase): void {
    if (this.tapped.has(provider)) return;
    this.tapped.add(provider);
    const generate = streamOf(provider);
    provider.generate = (turn, options) => {
      const watched = this.pending.shift() ?? new WatchedTurn(({ events }) => events);
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

/** A provider's stream, also for a provider that pushes. */
function streamOf(provider: ModelProviderBase): ModelProviderBase['generate'] {
  if (!pushes(provider)) return provider.generate.bind(provider);
  return (turn, { signal }) => readPushed((sink) => provider.push(turn, sink), signal);
}

/** Ends the provider's own stream together with the one that replaces it. */
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
