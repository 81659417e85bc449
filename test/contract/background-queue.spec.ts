import { beforeEach, describe, expect, it } from '@jest/globals';

import { Admission, type AdmittedTurn, ApiError, Clock, type Lease } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, IN_BACKGROUND, pollUntil, replay, whenEnded, whenRunning } from '../support/background.js';
import { useScriptedService } from '../support/describe-service.js';
import { ShiftedClock, WatchedClock } from '../support/clocks.js';
import { HeldTurns } from '../support/held-turns.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const TENANTS = 'alice:sk-alice,bob:sk-bob,carol:sk-carol';
const [alice, bob, carol] = [{ apiKey: 'sk-alice' }, { apiKey: 'sk-bob' }, { apiKey: 'sk-carol' }] as const;
const WAITED = { status: 'failed', error: { code: 'background_wait_exceeded' }, completed_at: null };

describe.each(STATES)('the queue of background turns in $state', ({ open }) => {
  let held: HeldTurns;

  describe('has bounds', () => {
    const service = useScriptedService(() =>
      startServiceIn(open, {
        providers: [ScriptedProvider],
        environment: {
          API_KEYS: TENANTS,
          BACKGROUND_MAX_RUNNING: 1,
          BACKGROUND_MAX_QUEUED: 3,
          BACKGROUND_MAX_QUEUED_PER_TENANT: 2,
        },
      }),
    );
    beforeEach(() => {
      held = new HeldTurns(service.provider).hold(10);
    });

    it('the queue has bounds for each tenant and for all, beyond which turns are refused until there is room', async () => {
      const running = await createInBackground(service, { input: 'running' }, alice);
      // Its model is asked a moment before it is stored that it has left the queue.
      await pollUntil(service, running.id, ({ status }) => status === 'in_progress', alice);
      const queued = await createInBackground(service, { input: 'one' }, alice);
      const next = await createInBackground(service, { input: 'two' }, alice);
      const full = { status: 429, code: 'background_queue_full', type: 'rate_limit_error' };
      const tenantIsFull = createInBackground(service, {}, alice);
      await expect(tenantIsFull).rejects.toMatchObject({
        ...full,
        error: { message: expect.stringMatching(/^You have/) },
      });
      await createInBackground(service, { input: 'three' }, bob);
      for (const stream of [false, true]) {
        const answer = await service.api
          .with({ authorization: 'Bearer sk-carol' })
          .post('responses', { ...IN_BACKGROUND, stream });
        expect(answer).toMatchObject({
          status: 429,
          body: { error: { code: 'background_queue_full', message: expect.stringMatching(/^The server has/) } },
        });
        expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      }
      // Turns in the foreground do not queue.
      held.letGo('now');
      expect(await service.client(carol).responses.create({ model: 'scripted', input: 'now' })).toMatchObject({
        status: 'completed',
      });

      await service.client(alice).responses.cancel(queued.id);
      await createInBackground(service, { input: 'four' }, carol);
      await expect(createInBackground(service, {}, carol)).rejects.toMatchObject(full);
      held.letGo('running');
      await whenEnded(service, running.id, alice);
      await pollUntil(service, next.id, ({ status }) => status === 'in_progress', alice);
      await createInBackground(service, { input: 'five' }, carol);
    });
  });

  describe('is taken from', () => {
    const service = useScriptedService(() =>
      startServiceIn(open, { providers: [ScriptedProvider], environment: { BACKGROUND_MAX_RUNNING: 2 } }),
    );
    beforeEach(() => {
      held = new HeldTurns(service.provider).hold(6);
    });

    it('the queue gives its oldest turns first, up to BACKGROUND_MAX_RUNNING at once', async () => {
      const ids: string[] = [];
      for (const input of ['a', 'b', 'c', 'd', 'e', 'f']) ids.push((await createInBackground(service, { input })).id);
      expect((await held.whenBegun(2)).toSorted()).toEqual(['a', 'b']);
      for (const [index, id] of ids.entries()) {
        const status = index < 2 ? 'in_progress' : 'queued';
        if (index < 2) await whenRunning(service, id);
        expect(await service.client().responses.retrieve(id)).toMatchObject({ status });
      }
      expect(await service.api.idsOf('responses?status=queued&order=asc')).toEqual(ids.slice(2));
      expect(await service.api.idsOf('responses?status=in_progress&order=asc')).toEqual(ids.slice(0, 2));
      held.letGo('b');
      expect((await held.whenBegun(3)).toSorted()).toEqual(['a', 'b', 'c']);
      for (const input of ['a', 'c', 'd', 'e', 'f']) held.letGo(input);
      for (const id of ids) expect(await whenEnded(service, id)).toMatchObject({ status: 'completed' });
      expect(held.peak).toBe(2);
    });
  });

  describe('is left after BACKGROUND_MAX_WAIT', () => {
    it('a turn leaves the queue after BACKGROUND_MAX_WAIT when no place becomes free', async () => {
      const clock = new WatchedClock(Date.now());
      await using service = await startServiceIn(open, {
        providers: [ScriptedProvider],
        environment: { BACKGROUND_MAX_RUNNING: 1, BACKGROUND_MAX_WAIT: 60 },
        overrides: [[Clock, clock]],
      });
      held = new HeldTurns(service.app.get(ScriptedProvider)).hold();
      await createInBackground(service, { input: 'running' });
      await held.whenBegun(1);
      const old = await createInBackground(service);
      clock.advance(58_000);
      const young = await createInBackground(service);
      expect(await service.client().responses.retrieve(old.id)).toMatchObject({ status: 'queued' });
      clock.advance(8000);
      expect(await whenEnded(service, old.id)).toMatchObject(WAITED);
      expect(await service.client().responses.retrieve(young.id)).toMatchObject({ status: 'queued' });
      held.letAllGo();
      clock.letGo();
    });

    it('a turn leaves the queue after BACKGROUND_MAX_WAIT when it is taken too late, without asking its model', async () => {
      const clock = new ShiftedClock();
      await using service = await startServiceIn(open, {
        providers: [ScriptedProvider],
        environment: { BACKGROUND_MAX_RUNNING: 1, BACKGROUND_MAX_WAIT: 60 },
        overrides: [[Clock, clock]],
      });
      held = new HeldTurns(service.app.get(ScriptedProvider)).hold(2);
      const first = await createInBackground(service, { input: 'first' });
      await held.whenBegun(1);
      const client = service.client();
      const stream = await client.responses.create({ ...IN_BACKGROUND, input: 'late', stream: true });
      clock.skip(61_000);
      held.letGo('first');
      expect(await whenEnded(service, first.id)).toMatchObject({ status: 'completed' });
      const types: string[] = [];
      for await (const event of stream) types.push(event.type);
      expect(types).toEqual(['response.created', 'response.queued', 'response.failed']);
      expect(held.begun).toEqual(['first']);
    });
  });

  describe('keeps a turn', () => {
    it('the queue keeps a turn that the Admission refuses for a while', async () => {
      const refused = Promise.withResolvers<undefined>();
      let isOpen = false;
      let asked = 0;
      class Doorkeeper extends Admission {
        override acquire(_turn: AdmittedTurn): Lease {
          asked += 1;
          if (isOpen) return { release: () => undefined };
          refused.resolve(undefined);
          throw ApiError.of('rate_limit_exceeded', 'Your team has used its turns.', {
            headers: { 'retry-after': '7' },
          });
        }
      }
      await using service = await startServiceIn(open, {
        providers: [ScriptedProvider],
        overrides: [[Admission, new Doorkeeper()]],
      });
      const { id } = await createInBackground(service, { input: 'patient' });
      await refused.promise;
      expect(await service.client().responses.retrieve(id)).toMatchObject({ status: 'queued', output: [] });
      isOpen = true;
      expect(await whenEnded(service, id)).toMatchObject({ status: 'completed', output_text: 'ok' });
      expect(asked).toBe(2);
      expect(service.app.get(ScriptedProvider).turns).toHaveLength(1);
    });

    it('the queue does not keep a background turn that the Admission refuses for good', async () => {
      const acquire = (): never => {
        throw new ApiError(403, 'invalid_request_error', 'not_for_you', null, 'This model is not for you.');
      };
      await using service = await startServiceIn(open, {
        providers: [ScriptedProvider],
        overrides: [[Admission, { acquire }]],
      });
      const client = service.client();
      const types: string[] = [];
      let id = '';
      for await (const event of await client.responses.create({ ...IN_BACKGROUND, stream: true })) {
        types.push(event.type);
        if (event.type === 'response.created') id = event.response.id;
      }
      expect(types).toEqual(['response.created', 'response.queued', 'response.failed']);
      expect(await client.responses.retrieve(id)).toMatchObject({
        status: 'failed',
        error: { code: 'not_for_you', message: 'This model is not for you.' },
      });
      expect(await replay(service, id)).toContain('not_for_you');
    });
  });
});
