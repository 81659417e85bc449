import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { describe, expect, it } from '@jest/globals';

import { simulatedTurn } from '../../test/support/simulated-turn.js';
import { TestSink } from '../../test/support/test-sink.js';
import {
  askProvider,
  type ModelEvent,
  type ModelInfo,
  ModelProviderBase,
  type ModelSink,
  pushes,
  PushingProvider,
  type Turn,
} from './index.js';

type Push = (sink: ModelSink) => Promise<void>;
type Options = { readonly signal: AbortSignal };

const TURN = simulatedTurn({}, []);
const say = (delta: string): readonly ModelEvent[] => [{ type: 'text', delta }];

/** Writes `one`, `two` and `three`, and optionally waits in between. */
const sayThree: Push = async (sink) => {
  for (const word of ['one', 'two', 'three']) {
    if (sink.isClosed) return;
    await sink.write(say(word));
  }
};

class Pushing extends PushingProvider {
  constructor(private readonly answer: Push) {
    super();
  }

  override async models(): Promise<readonly ModelInfo[]> {
    return [];
  }

  override push(_turn: Turn, sink: ModelSink): Promise<void> {
    return this.answer(sink);
  }
}

class Generating extends ModelProviderBase {
  constructor(override readonly generate: () => AsyncIterable<readonly ModelEvent[]>) {
    super();
  }

  override async models(): Promise<readonly ModelInfo[]> {
    return [];
  }
}

const read = (answer: Push, signal = new AbortController().signal): AsyncGenerator<readonly ModelEvent[]> =>
  new Pushing(answer).generate(TURN, { signal });

describe(askProvider.name, () => {
  /** Changes pushed events by overriding `generate`. */
  class Shouting extends Pushing {
    override async *generate(turn: Turn, options: Options): AsyncGenerator<readonly ModelEvent[], void, undefined> {
      for await (const batch of super.generate(turn, options)) {
        yield batch.map((event) => ('delta' in event ? { ...event, delta: event.delta.toUpperCase() } : event));
      }
    }
  }

  /** Pushes the events of its generator. */
  class Calm extends Shouting {
    override push(_turn: Turn, sink: ModelSink): Promise<void> {
      return sayThree(sink);
    }
  }

  it.each([
    ['a provider that pushes', new Pushing(sayThree), true, ['one', 'two', 'three']],
    ['a subclass that changes the generator alone', new Shouting(sayThree), false, ['ONE', 'TWO', 'THREE']],
    ['a subclass of that one that pushes', new Calm(sayThree), true, ['one', 'two', 'three']],
    [
      'an object with a generator of its own',
      Object.assign(new Pushing(sayThree), { generate: () => oneBatch('own') }),
      false,
      ['own'],
    ],
    ['a provider without a push', new Generating(() => oneBatch('generated')), false, ['generated']],
  ])('askProvider asks %s in its latest form', async (_name, provider, isPushing, said) => {
    const sink = new TestSink();
    await askProvider(provider, TURN, sink);
    expect(pushes(provider)).toBe(isPushing);
    expect(sink.batches).toEqual(said.map(say));
  });

  it('requests no more of a generator than the sink accepts', async () => {
    let asked = 0;
    const provider = new Generating(async function* () {
      for (const word of ['one', 'two']) {
        asked += 1;
        yield say(word);
      }
    });
    const sink = new TestSink();
    sink.fill();
    const end = askProvider(provider, TURN, sink);
    await sink.written(1);
    await nextLoopTurn();
    expect(asked).toBe(1);
    sink.drain();
    await end;
    expect(asked).toBe(2);
  });

  it('askProvider closes a hanging stream when its turn is stopped', async () => {
    const dismissed = Promise.withResolvers<string>();
    const stream = {
      next: () => new Promise<never>(() => undefined),
      return: async () => {
        dismissed.resolve('dismissed');
        return { done: true as const, value: undefined };
      },
    };
    const sink = new TestSink();
    void askProvider(new Generating(() => ({ [Symbol.asyncIterator]: () => stream })), TURN, sink);
    sink.stop('over');
    expect(await dismissed.promise).toBe('dismissed');
  });

  it('askProvider leaves a stream when its sink is closed', async () => {
    let isLeft = false;
    const provider = new Generating(async function* () {
      try {
        for (;;) yield say('more');
      } finally {
        isLeft = true;
      }
    });
    const sink = new TestSink();
    sink.fill();
    const end = askProvider(provider, TURN, sink);
    await sink.written(1);
    sink.close();
    sink.drain();
    await end;
    expect([sink.batches.length, isLeft]).toEqual([1, true]);
  });

  it('askProvider rejects an answer that is not a stream', async () => {
    const list = new Generating(() => [say('one')] as unknown as AsyncIterable<readonly ModelEvent[]>);
    await expect(askProvider(list, TURN, new TestSink())).rejects.toThrow(TypeError);
  });
});

describe('what is pushed and read as a stream', () => {
  it('what is pushed and read as a stream waits until it was read', async () => {
    let written = 0;
    const stream = read(async (sink) => {
      for (const word of ['one', 'two', 'three']) {
        written += 1;
        await sink.write(say(word));
      }
    });
    for (const [index, word] of ['one', 'two', 'three'].entries()) {
      expect(await stream.next()).toEqual({ done: false, value: say(word) });
      await nextLoopTurn();
      expect(written).toBe(index + 1);
    }
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it('an answer is read whole where the provider does not wait', async () => {
    const stream = read(async (sink) => {
      for (const word of ['one', 'two']) void sink.write(say(word));
    });
    expect(await Array.fromAsync(stream)).toEqual([say('one'), say('two')]);
  });

  it('what is pushed and read as a stream throws errors before the first batch', async () => {
    await expect(read(() => Promise.reject(new Error('broken'))).next()).rejects.toThrow('broken');
  });

  it.each([
    ['throws at once', () => fail()],
    ['rejects', async () => fail()],
  ])('what is pushed and read as a stream yields earlier events before it %s', async (_name, failing) => {
    const stream = read((sink) => {
      void sink.write(say('one'));
      return failing();
    });
    expect((await stream.next()).value).toEqual(say('one'));
    await expect(stream.next()).rejects.toThrow('broken');
  });

  it('what is pushed and read as a stream closes its sink when the turn is stopped', async () => {
    const controller = new AbortController();
    const stream = read(sayThree, controller.signal);
    await stream.next();
    controller.abort();
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it('what is pushed and read as a stream ends its push when it is left early', async () => {
    const steps: string[] = [];
    const stream = read(async (sink) => {
      await sink.write(say('one'));
      steps.push(sink.isClosed ? 'closed' : 'open');
      void sink.write(say('two'));
      await nextLoopTurn();
      steps.push('released');
    });
    for await (const batch of stream) {
      expect(batch).toEqual(say('one'));
      break;
    }
    expect(steps).toEqual(['closed', 'released']);
  });
});

async function* oneBatch(text: string): AsyncGenerator<readonly ModelEvent[], void, undefined> {
  yield say(text);
}

function fail(): never {
  throw new Error('broken');
}
