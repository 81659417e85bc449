import { describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { DAY_MS, dayOf, StateBackend } from '../../src/state/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { EVERY_STATE, startServiceIn } from '../support/state-backends.js';

const HOUR_MS = 3_600_000;

/** Redis forgets by itself, by its own clock. */
describe.each(EVERY_STATE.filter(({ state }) => state !== 'redis'))('usage with STATE=$state', ({ open }) => {
  it('usage is forgotten after USAGE_RETENTION_DAYS', async () => {
    const clock = new FakeClock();
    await using service = await startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: { USAGE_RETENTION_DAYS: 2, PURGE_INTERVAL_MS: HOUR_MS },
      overrides: [[Clock, clock]],
    });
    await service.client().responses.create({ model: 'scripted', input: 'Hi' });
    const { usage } = service.app.get(StateBackend, { strict: false });
    const today = dayOf(clock.now());
    const sums = async (): Promise<number> =>
      (await usage?.report({ firstDay: today, endDay: today + 1 }))?.length ?? NaN;
    clock.advance(DAY_MS);
    expect(await sums()).toBe(1);
    clock.advance(2 * DAY_MS);
    while ((await sums()) > 0) clock.advance(HOUR_MS);
  });
});
