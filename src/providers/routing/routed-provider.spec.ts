import { describe, expect, it } from '@jest/globals';

import { simulatedTurn } from '../../../test/support/simulated-turn.js';
import { TestSink } from '../../../test/support/test-sink.js';
import { SystemClock } from '../../time/index.js';
import type { Item } from '../../protocol/index.js';
import {
  askProvider,
  ModelError,
  type ModelEvent,
  type ModelInfo,
  type ModelSink,
  PushingProvider,
  type Turn,
  type WholeTurn,
} from '../index.js';
import { RoutedProvider, SystemRandom, TargetHealth } from './index.js';

const say = (delta: string): readonly ModelEvent[] => [{ type: 'text', delta }];
const noted = (upstreamId: string): readonly ModelEvent[] => [{ type: 'metadata', upstreamId }];

class Upstream extends PushingProvider {
  constructor(
    private readonly answer: (sink: ModelSink, turn: Turn) => Promise<void>,
    override readonly compactsContexts = false,
  ) {
    super();
  }

  override async models(): Promise<readonly ModelInfo[]> {
    return [];
  }

  override push(turn: Turn, sink: ModelSink): Promise<void> {
    return this.answer(sink, turn);
  }
}

function route(...answers: readonly [Upstream, ...Upstream[]]): RoutedProvider {
  const toTarget = (provider: Upstream, index: number): ConstructorParameters<typeof RoutedProvider>[0][0] => ({
    provider,
    providerName: `upstream-${index}`,
    retries: 0,
    isOpen: true,
    tolerates: new Set(),
    forwards: new Set(),
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
  it('a routed provider buffers events without output up to the first output, then passes on every batch unchanged', async () => {
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

  it.each([
    [true, [true, true]],
    [false, [true, false]],
  ])('a routed provider has context_management only where all targets compact: %s', async (isAsked, compacts) => {
    const seen: unknown[] = [];
    const answer = async (opening: ModelSink, { parameters }: Turn): Promise<void> => {
      seen.push(parameters.context_management);
      await opening.write(say('one'));
    };
    const [first = true, second = true] = compacts;
    const provider = route(new Upstream(answer, first), new Upstream(answer, second));
    const asked = [{ type: 'compaction' as const }];
    const parent = { responseId: 'resp_1', origin: { provider: 'upstream-0' } };
    const turn: Turn = { ...TURN, parent, parameters: { ...TURN.parameters, context_management: asked } };
    await askProvider(provider, turn, new TestSink());
    expect(seen).toEqual([isAsked ? asked : undefined]);
  });

  it('a routed provider gives its target every member of a turn that the route does not change', async () => {
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    const turn: WholeTurn = { ...TURN, trace, hasOthers: false, purpose: 'summary', canApprove: false };
    const seen: Turn[] = [];
    const provider = route(
      new Upstream(async (opening, asked) => {
        seen.push(asked);
        await opening.write(say('one'));
      }),
    );
    await askProvider(provider, turn, new TestSink());
    const { settings: _settings, input: _input, context: _context, ...others } = turn;
    expect(seen).toEqual([expect.objectContaining(others)]);
  });

  it('a routed provider gives encrypted reasoning to the target that was chosen, and not to others, also to count it', async () => {
    const seen: (readonly Item[])[] = [];
    class Counter extends Upstream {
      override async countTokens(turn: Turn): Promise<number> {
        seen.push(turn.context);
        if (seen.length === 1) throw new ModelError('model_unavailable', 'Gone.', { retry: 'other' });
        return 7;
      }
    }
    const counters = [new Counter(async () => undefined), new Counter(async () => undefined)] as const;
    const sealed: Item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' };
    const turn: Turn = { ...TURN, context: [sealed] };
    await expect(route(...counters).countTokens(turn, { exact: true })).resolves.toBe(7);
    expect(seen).toEqual([[sealed], []]);
  });

  it('a routed provider ignores later writes of a failed attempt', async () => {
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
