// Slow: starts the built service as several processes, and ends them.

import { describe, expect, it } from '@jest/globals';

import { createResponse, expectSameAfterEvery, expectWhole, readOn } from '../support/background/background-client.js';
import { inParallel } from '../support/in-parallel.js';
import { SqliteService } from '../support/sqlite-service.js';
import { WebhookReceiver } from '../support/webhooks/webhook-receiver.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const TURNS = 8;
/** The second one meets turns that were taken over already. */
const RESTARTS = 2;

describe('background turns over a file', () => {
  it.each<[string, NodeJS.Signals, string]>([
    // What is handed back counts as no attempt.
    ['restarts in order', 'SIGTERM', '1'],
    ['is killed', 'SIGKILL', '3'],
  ])(
    'background turns over a file go on, queued and running ones, when the service %s twice',
    async (_, signal, attempts) => {
      await using service = await SqliteService.start({
        SIMULATOR_BACKGROUND_LATENCY: '100/8',
        BACKGROUND_MAX_RUNNING: '4',
        BACKGROUND_MAX_ATTEMPTS: attempts,
        // Less than a turn takes: those that run are handed back.
        DRAIN_TIMEOUT_MS: '50',
      });
      const ids: string[] = [];
      for (let index = 0; index < TURNS; index += 1) {
        const { id } = await createResponse(service.process, {
          input: `Question ${index}`,
          text: { verbosity: 'low' },
        });
        ids.push(id);
      }
      const reading = ids.map((id) => readOn(service, id));
      for (let restart = 0; restart < RESTARTS; restart += 1) await service.restart(signal);
      const streams = await Promise.all(reading);
      for (const [index, id] of ids.entries()) {
        const end = await expectWhole(service.process, id, streams[index] ?? '');
        expect(end).toMatchObject({ status: 'completed', output: [{ type: 'message' }] });
      }
      await service.restart(signal);
      await inParallel([...ids.entries()].slice(0, 3), 1, ([index, id]) =>
        expectSameAfterEvery([service.process], id, streams[index] ?? ''),
      );
    },
  );

  it('background turns over a file announce their ends after a crash in the middle of sending, with the same id', async () => {
    await using hooks = await WebhookReceiver.open();
    // The first delivery is never answered.
    hooks.answers.push(() => undefined);
    await using service = await SqliteService.start({
      WEBHOOK_URL: hooks.url,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_LOOPBACK: 'true',
    });
    const { id } = await createResponse(service.process, {});
    while (hooks.received.length < 1) await hooks.next;
    await service.restart('SIGKILL');
    while (hooks.received.length < 2) await hooks.next;
    const [one, two] = hooks.received;
    expect(two?.headers['webhook-id']).toBe(one?.headers['webhook-id']);
    expect(JSON.parse(two?.body ?? '')).toMatchObject({ type: 'response.completed', data: { id } });
    // What was answered is not sent again.
    await service.restart('SIGTERM');
    await service.restart('SIGTERM');
    expect(hooks.received).toHaveLength(2);
  });
});
