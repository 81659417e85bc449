import { beforeEach, describe, expect, it } from '@jest/globals';

import { Counters } from '../../src/access/quotas/counters.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, IN_BACKGROUND, whenEnded } from '../support/background.js';
import { useFreshService } from '../support/describe-service.js';
import { HeldTurns } from '../support/held-turns.js';
import { pause } from '../support/pause.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const USED = [
  { type: 'text', delta: 'Hi' },
  { type: 'usage', input: 300, output: 400 },
  { type: 'finish', reason: 'stop' },
] as const;

describe.each(STATES)('limits of background turns in $state', ({ open }) => {
  describe('for requests and tokens', () => {
    const service = useFreshService(() =>
      startServiceIn(open, {
        providers: [ScriptedProvider],
        environment: {
          LIMIT_REQUESTS_PER_MINUTE: 3,
          LIMIT_TOKENS_PER_MINUTE: 1000,
          LIMIT_OUTPUT_RESERVE: 0,
          BACKGROUND_MAX_RUNNING: 1,
        },
      }),
    );
    const create = async (stream = false): Promise<Response> => {
      const answer = await service
        .client()
        .responses.create({ ...IN_BACKGROUND, stream })
        .asResponse();
      return answer;
    };
    const left = async (kind: 'requests' | 'tokens'): Promise<number> => {
      const answer = await service.client().responses.create({ model: 'scripted', input: 'Hi' }).asResponse();
      return Number(answer.headers.get(`x-ratelimit-remaining-${kind}`));
    };
    /** Other processes settle a moment later: the tokens of the next turn, as soon as they are `wanted`. */
    const untilLeft = async (wanted: (tokens: number) => boolean): Promise<void> => {
      const counters = service.app.get(Counters, { strict: false });
      const unlimited = { requestLimit: 0, tokens: 0, tokenLimit: 0, places: 0, placeLimit: 0 };
      for (;;) {
        const take = { ...unlimited, key: JSON.stringify(['*', '*', 'anybody']), requests: 1 };
        if (wanted(1000 - (await counters.take(take)).tokens)) return;
        await pause();
      }
    };

    it.each([false, true])(
      'the limits of a background turn are told when it is created (stream: %s)',
      async (stream) => {
        service.provider.reply(...USED);
        const answer = await create(stream);
        expect(answer.status).toBe(200);
        expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('3');
        expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('2');
        expect(Number(answer.headers.get('x-ratelimit-remaining-tokens'))).toBeGreaterThan(900);
        await answer.text();
      },
    );

    it('the limits of a background turn count once: not again when it runs', async () => {
      service.provider.reply(...USED);
      const { id } = await createInBackground(service);
      await whenEnded(service, id);
      expect(await left('requests')).toBe(1);
    });

    it('a background turn beyond the limits is refused when it is created', async () => {
      for (let turn = 0; turn < 3; turn += 1) await whenEnded(service, (await createInBackground(service)).id);
      await expect(createInBackground(service)).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
      expect(service.provider.turns).toHaveLength(3);
    });

    it('the tokens of a background turn are settled with what the run has used', async () => {
      service.provider.reply(...USED);
      const { id } = await createInBackground(service);
      expect(await whenEnded(service, id)).toMatchObject({ status: 'completed', usage: { total_tokens: 700 } });
      await untilLeft((tokens) => tokens === 300);
    });

    it('the tokens of a background turn are given back, but for its input, when its model fails', async () => {
      service.provider.play(async function* () {
        yield* [];
        throw new Error('the upstream is down');
      });
      const { id } = await createInBackground(service, { max_output_tokens: 800 });
      expect(await whenEnded(service, id)).toMatchObject({ status: 'failed', usage: null });
      await untilLeft((tokens) => tokens > 900);
    });

    it('the limits of a background turn are given back when it is cancelled before it runs', async () => {
      const held = new HeldTurns(service.provider).hold(1);
      await createInBackground(service, { input: 'running' });
      await held.whenBegun(1);
      const { id } = await createInBackground(service, { input: 'x'.repeat(2000) });
      await untilLeft((tokens) => tokens < 500);
      expect((await service.client().responses.cancel(id)).status).toBe('cancelled');
      await untilLeft((tokens) => tokens > 900);
      held.letAllGo();
    });
  });

  describe('for turns at once', () => {
    let held: HeldTurns;
    const service = useFreshService(() =>
      startServiceIn(open, { providers: [ScriptedProvider], environment: { LIMIT_CONCURRENT_TURNS: 1 } }),
    );
    beforeEach(() => {
      held = new HeldTurns(service.provider).hold(2);
    });

    it('the limit of turns at once lets a background turn wait in its queue', async () => {
      const first = await createInBackground(service, { input: 'first' });
      await held.whenBegun(1);
      const second = await createInBackground(service, { input: 'second' });
      held.letGo('first');
      held.letGo('second');
      expect((await whenEnded(service, first.id)).status).toBe('completed');
      expect((await whenEnded(service, second.id)).status).toBe('completed');
      expect(held.peak).toBe(1);
    });
  });
});
