import { setImmediate } from 'node:timers/promises';

import { describe, expect, it } from '@jest/globals';

import { TestSink } from '../../test/support/test-sink.js';
import { FakeClock } from '../testing/index.js';
import { type ModelEvent, readPushed } from '../providers/index.js';
import { type Latency, parseLatency, withLatency } from './latency.js';
import { type Performance, play } from './play.js';
import { SeededRandom } from './seeded-random.js';
import type { Step } from './step.js';

const text = (delta: string): Step => ({ type: 'text', delta });
const finish: Step = { type: 'finish', reason: 'stop' };
const WORDS = ['a', 'b', 'c', 'd'].map(text);

/** A clock that records delays without waiting. */
class CountingClock extends FakeClock {
  readonly pauses: number[] = [];

  override async sleep(delayMs: number): Promise<void> {
    this.pauses.push(delayMs);
  }
}

function pausesOf(steps: readonly Step[], latency: Latency, seed: string | number = 1): readonly number[] {
  const slowed = [...withLatency(steps, latency, new SeededRandom(seed))];
  expect(slowed.filter(({ type }) => type !== 'pause')).toEqual(steps);
  return slowed.flatMap((step) => (step.type === 'pause' ? [step.ms] : []));
}

async function playAll(steps: Iterable<Step>, speed = 1): Promise<{ pauses: readonly number[]; said: string }> {
  const clock = new CountingClock();
  const { signal } = new AbortController();
  const events: ModelEvent[] = [];
  const plan = async (): Promise<Performance> => ({ steps, written: null, speed, input: 0, cached: 0 });
  for await (const batch of readPushed((sink) => play(plan, clock, sink), signal)) {
    expect(batch).not.toHaveLength(0);
    events.push(...batch);
  }
  return { pauses: clock.pauses, said: events.map((event) => (event.type === 'text' ? event.delta : '')).join('') };
}

describe(parseLatency.name, () => {
  it.each([
    ['instant', 'instant'],
    ['realistic', 'realistic'],
    ['300/20', { firstTokenMs: 300, perTokenMs: 20, spread: 0.3 }],
    ['300/20/0', { firstTokenMs: 300, perTokenMs: 20, spread: 0 }],
    ['0.5/0.25/1.5', { firstTokenMs: 0.5, perTokenMs: 0.25, spread: 1.5 }],
    ['0/0', { firstTokenMs: 0, perTokenMs: 0, spread: 0.3 }],
  ])('parseLatency reads %s', (written, latency) => {
    expect(parseLatency(written)).toEqual(latency);
  });

  it.each([
    '',
    'Instant',
    '300',
    '300/',
    '/20',
    '300/20/',
    '300/20/0/0',
    '-1/20',
    '1e3/2',
    ' 300/20',
    '300,5/20',
    '.5/1',
  ])('parseLatency does not read %j', (written) => {
    expect(parseLatency(written)).toBeUndefined();
  });
});

describe(withLatency.name, () => {
  const exact: Latency = { firstTokenMs: 300, perTokenMs: 20, spread: 0 };

  it('withLatency waits for the first token, and then before each', () => {
    expect(pausesOf([...WORDS, finish], exact)).toEqual([300, 20, 20, 20]);
  });

  it('withLatency waits before what is no delta only if it comes first', () => {
    const call: Step = { type: 'function_call', name: 'look' };
    const written: Step = { type: 'function_call_arguments', delta: '{}' };
    expect(pausesOf([call, written, call, written, finish], exact)).toEqual([300, 20, 20]);
    expect(pausesOf([finish], exact)).toEqual([300]);
    expect(pausesOf([], exact)).toEqual([]);
  });

  it('withLatency pauses for hidden reasoning tokens before the answer', () => {
    const steps: readonly Step[] = [{ type: 'reasoning_open' }, { type: 'think', tokens: 50 }, ...WORDS, finish];
    expect(pausesOf(steps, exact)).toEqual([300, 1000, 20, 20, 20, 20]);
  });

  const spread: Latency = { firstTokenMs: 300, perTokenMs: 20, spread: 0.3 };

  it('withLatency draws the same pauses from the same seed, and others from another', () => {
    const pauses = pausesOf(WORDS, spread, 7);
    expect(pausesOf(WORDS, spread, 7)).toEqual(pauses);
    expect(pausesOf(WORDS, spread, 8)).not.toEqual(pauses);
    expect(new Set(pauses).size).toBe(pauses.length);
  });

  it.each([0.1, 0.35, 1])(
    'withLatency draws from a log-normal distribution around the medians, with a spread of %p',
    (sigma) => {
      const many = Array<Step>(4000).fill(text('x'));
      const [, ...between] = pausesOf(many, { ...spread, spread: sigma }, 'between');
      const first = Array.from(
        { length: 2000 },
        (_, seed) => pausesOf([finish], { ...spread, spread: sigma }, seed)[0] ?? 0,
      );
      for (const [pauses, median] of [
        [between, 20],
        [first, 300],
      ] as const) {
        const logs = pauses.map((ms) => Math.log(ms / median));
        const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
        const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / logs.length;
        expect(Math.abs(mean)).toBeLessThan(0.1 * sigma);
        expect(Math.sqrt(variance) / sigma).toBeCloseTo(1, 1);
        const below = pauses.filter((ms) => ms < median).length / pauses.length;
        expect(Math.abs(below - 0.5)).toBeLessThan(0.04);
        // Of a normal distribution two thirds are within its standard deviation.
        const near = logs.filter((log) => Math.abs(log) < sigma).length / logs.length;
        expect(Math.abs(near - 0.683)).toBeLessThan(0.04);
      }
    },
  );

  it('a latency has no pauses if the median is 0, whatever the spread', () => {
    expect(pausesOf(WORDS, { firstTokenMs: 0, perTokenMs: 0, spread: 3 })).toEqual([0, 0, 0, 0]);
  });
});

describe(play.name, () => {
  it('play waits as the steps say, divided by the speed', async () => {
    const steps = [
      ...withLatency([...WORDS, finish], { firstTokenMs: 300, perTokenMs: 20, spread: 0 }, new SeededRandom(1)),
    ];
    expect(await playAll(steps)).toEqual({ pauses: [300, 20, 20, 20], said: 'abcd' });
    expect(await playAll(steps, 4)).toEqual({ pauses: [75, 5, 5, 5], said: 'abcd' });
    expect(await playAll(steps, 0.5)).toEqual({ pauses: [600, 40, 40, 40], said: 'abcd' });
  });

  it.each([
    ['short pauses', 0.25, 1, 1000],
    ['long pauses that the speed makes short', 20, 80, 1000],
    ['pauses just short of what can be waited for', 0.75, 1, 1000],
  ])('play loses nothing of %s', async (_name, ms, speed, count) => {
    const steps = Array.from({ length: count }, (): Step[] => [{ type: 'pause', ms }, text('x')]).flat();
    const { pauses, said } = await playAll([...steps, finish], speed);
    expect(said).toBe('x'.repeat(count));
    for (const pause of pauses) expect(pause).toBeGreaterThanOrEqual(1);
    const owed = (ms / speed) * count;
    const waited = pauses.reduce((sum, pause) => sum + pause, 0);
    expect(waited).toBeLessThanOrEqual(owed);
    expect(waited).toBeGreaterThan(owed - 1);
  });

  it('play never waits where there is no pause', async () => {
    expect(await playAll([...WORDS, ...WORDS, ...WORDS, finish])).toEqual({ pauses: [], said: 'abcdabcdabcd' });
    const none = withLatency([...WORDS, finish], { firstTokenMs: 0, perTokenMs: 0, spread: 1 }, new SeededRandom(1));
    expect(await playAll(none)).toEqual({ pauses: [], said: 'abcd' });
  });

  it('play writes earlier events before a pause, and ends at once when the signal aborts in it', async () => {
    const clock = new FakeClock();
    const steps: readonly Step[] = [text('a'), text('b'), { type: 'pause', ms: 5000 }, text('never'), finish];
    const plan = async (): Promise<Performance> => ({ steps, written: null, speed: 1, input: 0, cached: 0 });
    const sink = new TestSink();
    const end = play(plan, clock, sink);
    await sink.written(1);
    await setImmediate();
    expect(sink.batches).toEqual([[text('a'), text('b')]]);
    expect(clock.pending).toBe(1);
    sink.stop(new Error('over'));
    await end;
    expect(sink.batches).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it.each([
    ['makes no signal where nothing is waited for', [], false],
    ['makes a signal where something is', [{ type: 'pause', ms: 1 }], true],
  ] as const)('play %s', async (_name, pauses, expected) => {
    const sink = new TestSink();
    const plan = async (): Promise<Performance> => ({
      steps: [...pauses, finish],
      written: null,
      speed: 1,
      input: 0,
      cached: 0,
    });
    await play(plan, new CountingClock(), sink);
    expect([sink.events, sink.hasSignal]).toEqual([[finish], expected]);
  });

  it('play waits for the maximum delay of timers if a pause has no end', async () => {
    expect((await playAll([{ type: 'pause', ms: Infinity }, finish])).pauses).toEqual([2_147_483_647]);
  });
});
