import { describe, expect, it } from '@jest/globals';

import { simulatedTurn } from '../../../test/support/simulated-turn.js';
import { TestSink } from '../../../test/support/test-sink.js';
import { SystemClock } from '../../time/index.js';
import { askProvider, type ModelEvent, type ModelInfo, type ModelSink, PushingProvider, type Turn } from '../index.js';
import { RoutedProvider, SystemRandom, TargetHealth } from './index.js';

const say = (delta: string): readonly ModelEvent[] => [{ type: 'text', delta }];
const noted = (upstreamId: string): readonly ModelEvent[] => [{ type: 'metadata', upstreamId }];

class Upstream extends PushingProvider {
  constructor(private readonly answer: (sink: ModelSink) => Promise<void>) {
    super();
  }

  override async models(): Promise<readonly ModelInfo[]> {
    return [];
  }

  override push(_turn: Turn, sink: ModelSink): Promise<void> {
    return this.answer(sink);
  }
}

function route(...answers: readonly [Upstream, ...Upstream[]]): RoutedProvider {
  const toTarget = (provider: Upstream, index: number): ConstructorParameters<typeof RoutedProvider>[0][0] => ({
    provider,
    providerName: `upstream-${index}`,
    retries: 0,
    isOpen: true,
    tolerates: new Set(),
    toModel: (name) => name,
    weight: 1,
  });
  const [first, ...others] = answers;
  const targets = [toTarget(first, 0), ...others.map((other, index) => toTarget(other, index + 1))] as const;
  const clock = new SystemClock();
  return new RoutedProvider([...targets], {
    clock,
    random: new SystemRandom(),
    health: new TargetHealth(clock),
    attempts: 6,
  });
}

const TURN = simulatedTurn({ prompt_cache_key: null }, []);

describe(RoutedProvider.name, () => {
  it('buffers events without output up to the first output, then passes on every batch unchanged', async () => {
    const sink = new TestSink();
    const last = say('two');
    const provider = route(
      new Upstream(async (opening) => {
        await opening.write(noted('resp_1'));
        expect(sink.batches).toHaveLength(0);
        await opening.write(say('one'));
        sink.fill();
        const waiting = opening.write(last);
        expect(waiting).toBeInstanceOf(Promise);
        sink.drain();
        await waiting;
      }),
    );
    await askProvider(provider, TURN, sink);
    expect(sink.batches).toEqual([
      [{ type: 'metadata', provider: 'upstream-0', model: 'gpt-4.1' }, ...noted('resp_1'), ...say('one')],
      last,
    ]);
    expect(sink.batches[1]).toBe(last);
  });

  it('ignores later writes of a failed attempt', async () => {
    const sink = new TestSink();
    let failed: ModelSink | undefined;
    const failOnce = async (opening: ModelSink): Promise<void> => {
      if (failed === undefined) {
        failed = opening;
        throw new Error('broken');
      }
      expect(failed.isClosed).toBe(true);
      await failed.write(say('of the first'));
      await opening.write(say('of the second'));
    };
    await askProvider(route(new Upstream(failOnce), new Upstream(failOnce)), TURN, sink);
    expect(sink.events.filter(({ type }) => type === 'text')).toEqual(say('of the second'));
  });
});
