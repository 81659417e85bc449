import { describe, expect, it } from '@jest/globals';

import { Clock, SimulatorOptions, SimulatorProvider } from '../../src/index.js';
import { PausingClock } from '../support/clocks.js';
import { startService } from '../support/service.js';
import { simulatedTurn } from '../support/simulated-turn.js';

/** Five tokens. */
const MESSAGE = { type: 'message', id: 'msg_1', role: 'user', content: 'Hello there, dear friend' };

/** The pauses of one turn of the simulator, as the variables have set it up. */
async function pausesOf(environment: object, background: boolean, control?: string): Promise<readonly number[]> {
  const clock = new PausingClock();
  await using service = await startService({
    environment: { SIMULATOR_GENERATOR: 'echo', SIMULATOR_CONTROL: true, ...environment },
    overrides: [[Clock, clock]],
  });
  const headers: Readonly<Record<string, string>> = control === undefined ? {} : { 'x-simulate': control };
  const turn = { ...simulatedTurn({ background }, [MESSAGE]), headers };
  const texts: string[] = [];
  for await (const batch of service.app.get(SimulatorProvider).generate(turn, new AbortController())) {
    texts.push(...batch.flatMap((event) => (event.type === 'text' ? [event.delta] : [])));
  }
  expect(texts.join('')).toBe(MESSAGE.content);
  const pauses = clock.take();
  clock.letGo();
  return pauses;
}

describe('a simulated background turn', () => {
  it('a simulated background turn takes its time by default, also before its first token, where others are instant', async () => {
    const pauses = await pausesOf({}, true);
    expect(pauses).toHaveLength(5);
    expect(pauses[0]).toBeGreaterThan(100);
    expect(await pausesOf({}, false)).toEqual([]);
  });

  const EXACT = { SIMULATOR_LATENCY: '50/5/0', SIMULATOR_BACKGROUND_LATENCY: '300/20/0' };
  const INSTANT = { SIMULATOR_LATENCY: '50/5/0', SIMULATOR_BACKGROUND_LATENCY: 'instant' };

  it.each([
    ['has the latency of its own variable', EXACT, true, undefined, [300, 20, 20, 20, 20]],
    ['leaves other turns their latency', EXACT, false, undefined, [50, 5, 5, 5, 5]],
    ['is divided by the speed', { ...EXACT, SIMULATOR_SPEED: 2 }, true, undefined, [150, 10, 10, 10, 10]],
    ['can be instant', INSTANT, true, undefined, []],
    ['can be made instant by its request', EXACT, true, 'latency=instant', []],
    ['can be slowed down by its request', INSTANT, true, 'latency=40/4/0', [40, 4, 4, 4, 4]],
  ])('a simulated background turn %s', async (_name, environment, background, control, expected) => {
    expect(await pausesOf(environment, background, control)).toEqual(expected);
  });

  it('a simulated background turn has the latency of its model where that is realistic', async () => {
    const [first = 0] = await pausesOf({ SIMULATOR_BACKGROUND_LATENCY: 'realistic' }, true);
    expect(first).toBeGreaterThan(50);
  });

  it('a simulated background turn takes its time in a program that gives no options', async () => {
    const clock = new PausingClock();
    const provider = new SimulatorProvider(new SimulatorOptions(), clock);
    const turn = simulatedTurn({ background: true }, [MESSAGE]);
    const [first] = await Array.fromAsync(provider.generate(turn, new AbortController()));
    expect([first?.length, clock.take()[0]]).toEqual([1, expect.any(Number)]);
  });
});
