import { afterAll, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { PausingClock } from '../support/clocks.js';
import { startWithScripts } from '../support/script-files.js';
import { type Service, startService } from '../support/service.js';
import { TRANSPORTS } from '../support/transports.js';

const MODEL = 'gpt-4.1';
/** Five tokens. */
const WORDS = 'Hello there, dear friend';
const sum = (pauses: readonly number[]): number => pauses.reduce((total, pause) => total + pause, 0);

interface Timed extends AsyncDisposable {
  readonly service: Service;
  readonly clock: PausingClock;
}

/** A service whose simulator echoes, and whose time goes by only while a model is slow. */
async function startTimed(environment: object, start: typeof startService = startService): Promise<Timed> {
  const clock = new PausingClock();
  const service = await start({
    environment: { SIMULATOR_GENERATOR: 'echo', ...environment },
    overrides: [[Clock, clock]],
  });
  const close = async (): Promise<void> => {
    clock.letGo();
    await service.close();
  };
  return { service, clock, [Symbol.asyncDispose]: close };
}

/** Those that tests share whose latency has no spread: with one, a simulator answers each time otherwise. */
const shared = new Map<string, Promise<Timed>>();

function timedOf(environment: object): Promise<Timed> {
  const name = JSON.stringify(environment);
  const timed = shared.get(name) ?? startTimed(environment);
  shared.set(name, timed);
  return timed;
}

afterAll(async () => {
  for (const timed of shared.values()) await (await timed)[Symbol.asyncDispose]();
});

describe.each(TRANSPORTS)('the time that simulated models take over $name', (transport) => {
  /** The pauses of one turn. */
  const time = async ({ service, clock }: Timed, body: object = {}): Promise<readonly number[]> => {
    clock.take();
    const { response } = await transport.run(service, { model: MODEL, input: WORDS, ...body });
    expect(response.status).toBe('completed');
    return clock.take();
  };

  const simulate = (text: string): object => ({ client_metadata: { 'x-simulate': text } });

  it.each(['gpt-4.1', 'o1-pro', 'gpt-5'])('simulated models take no time by default, also for %s', async (model) => {
    const timed = await timedOf({});
    expect(await time(timed, { model })).toEqual([]);
    const instant = await timedOf({ SIMULATOR_LATENCY: 'instant', SIMULATOR_SPEED: 0.001 });
    expect(await time(instant, { model, reasoning: { summary: 'auto' } })).toEqual([]);
  });

  it('the latency of a simulated model is exactly as configured without a spread', async () => {
    const timed = await timedOf({ SIMULATOR_LATENCY: '300/20/0' });
    expect(await time(timed)).toEqual([300, 20, 20, 20, 20]);
  });

  it('the latency of a simulated model has a spread, the same in every run with the same seed', async () => {
    const run = async (SIMULATOR_SEED: number): Promise<readonly (readonly number[])[]> => {
      await using timed = await startTimed({ SIMULATOR_LATENCY: '300/20', SIMULATOR_SEED });
      return [await time(timed), await time(timed), await time(timed, { input: 'Something else' })];
    };
    const first = await run(1);
    expect(await run(1)).toEqual(first);
    expect(await run(2)).not.toEqual(first);
    // Nor is the same request as slow when it comes again.
    expect(first[1]).not.toEqual(first[0]);
    for (const pauses of first.flat()) expect(pauses).toBeGreaterThan(0);
    expect(new Set(first[0]).size).toBe(5);
  });

  it('the latency of a simulated model is that of the model where it is realistic', async () => {
    await using timed = await startTimed({ SIMULATOR_LATENCY: 'realistic' });
    const measure = async (model: string): Promise<readonly [first: number, perToken: number]> => {
      const rounds = [];
      for (let round = 0; round < 10; round += 1) {
        const pauses = await time(timed, { model, input: `${round} ${'word '.repeat(40)}` });
        rounds.push([pauses[0] ?? 0, sum(pauses.slice(1)) / (pauses.length - 1)] as const);
      }
      return [sum(rounds.map(([first]) => first)) / 10, sum(rounds.map(([, token]) => token)) / 10];
    };
    const measured: (readonly [first: number, perToken: number])[] = [];
    for (const model of ['gpt-4.1-nano', 'gpt-4.1-mini', 'gpt-4.1']) measured.push(await measure(model));
    const [first, perToken] = ([0, 1] as const).map((index) => measured.map((values) => values[index]));
    for (const values of [first, perToken]) expect(values?.toSorted((a, b) => a - b)).toEqual(values);
    expect(first?.[0]).toBeLessThan((first?.[2] ?? 0) / 1.5);
    expect((await measure('no-such-model'))[0]).toBeGreaterThan(first?.[0] ?? Infinity);
  });

  it('the latency of a large model that reasons is longer than that of a tiny one', async () => {
    await using timed = await startTimed({ SIMULATOR_LATENCY: 'realistic' });
    const nano = await time(timed, { model: 'gpt-5-nano' });
    const pro = await time(timed, { model: 'o1-pro' });
    expect(nano[0]).toBeLessThan(pro[0] ?? 0);
    expect(sum(nano)).toBeLessThan(sum(pro));
  });

  it('the latency of a simulated model has the time of hidden thoughts in it, before the answer', async () => {
    const timed = await timedOf({ SIMULATOR_LATENCY: '300/20/0' });
    const body = { model: 'gpt-5', reasoning: { effort: 'low' } };
    // Five tokens of answer are eight of thought.
    expect(await time(timed, body)).toEqual([300, 8 * 20, 20, 20, 20, 20, 20]);
    const summarised = await time(timed, { ...body, reasoning: { effort: 'high', summary: 'concise' } });
    expect(sum(summarised)).toBe(300 + (30 + 5) * 20);
    expect(summarised.length).toBeGreaterThan(7);
    expect(await time(timed, { ...body, reasoning: { effort: 'none' } })).toEqual([300, 20, 20, 20, 20]);
  });

  it.each([
    [10, [30, 2, 2, 2, 2]],
    [0.5, [600, 40, 40, 40, 40]],
  ])('the latency of a simulated model is divided by SIMULATOR_SPEED=%p', async (SIMULATOR_SPEED, pauses) => {
    const timed = await timedOf({ SIMULATOR_LATENCY: '300/20/0', SIMULATOR_SPEED });
    expect(await time(timed)).toEqual(pauses);
  });

  it('the latency of a simulated model adds up where single pauses are too short to be waited for', async () => {
    const timed = await timedOf({ SIMULATOR_LATENCY: '0.25/0.25/0' });
    const input = 'word'.padEnd(5 * 399, ' word');
    const pauses = await time(timed, { input });
    expect(pauses).toEqual(Array(pauses.length).fill(1));
    expect(pauses.length).toBeGreaterThan(80);
    const half = await time(timed, { input: input.slice(0, input.length / 2) });
    expect(Math.abs(half.length - pauses.length / 2)).toBeLessThanOrEqual(1);
  });

  it('the latency of a simulated model can be chosen by each request', async () => {
    const timed = await timedOf({ SIMULATOR_CONTROL: true, SIMULATOR_LATENCY: '50/5/0', SIMULATOR_SPEED: 5 });
    expect(await time(timed)).toEqual([10, 1, 1, 1, 1]);
    expect(await time(timed, simulate('latency=300/20/0; speed=1'))).toEqual([300, 20, 20, 20, 20]);
    expect(await time(timed, simulate('latency=300/20/0'))).toEqual([60, 4, 4, 4, 4]);
    expect(await time(timed, simulate('speed=.5'))).toEqual([100, 10, 10, 10, 10]);
    expect(await time(timed, simulate('latency=instant'))).toEqual([]);
    const slow = await time(timed, { model: 'o1-pro', ...simulate('latency=realistic; speed=1; seed=3') });
    expect(slow[0]).toBeGreaterThan(100);
  });

  it('the latency of a simulated model comes on top of the silence that a script has', async () => {
    const script = { turns: [{ steps: [{ text: ['One ', 'two '] }, { delay: 500 }, { text: ['three'] }] }] };
    await using timed = await startTimed({ SIMULATOR_LATENCY: '300/20/0', SIMULATOR_SPEED: 10 }, (options) =>
      startWithScripts({ 'slow.yaml': script }, options),
    );
    expect(await time(timed, { model: 'slow' })).toEqual([30, 2, 50, 2]);
  });
});

describe('a step of a script that was recorded', () => {
  const steps = [
    { at: 100, text: ['One '] },
    { delay: 200 },
    { at: 400, text: ['two '] },
    { text: ['three '] },
    { at: 350, text: ['four'] },
  ];

  it.each([
    ['waits until its moment since the beginning of the turn', {}, {}, [100, 200, 100]],
    ['waits as much less as the speed is higher', {}, { SIMULATOR_SPEED: 10 }, [10, 20, 10]],
    ['waits for nobody with timing: none but for delays', { timing: 'none' }, {}, [200]],
  ])('a recorded step of a script %s', async (_name, settings, environment, expected) => {
    await using timed = await startTimed(environment, (options) =>
      startWithScripts({ 'taped.yaml': { ...settings, turns: [{ steps }] } }, options),
    );
    const response = await timed.service.client().responses.create({ model: 'taped', input: 'Go on.' });
    expect(response.output_text).toBe('One two three four');
    expect(timed.clock.take()).toEqual(expected);
  });
});
