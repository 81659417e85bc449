// Slow: starts the built service as several processes, and ends them.

import { afterEach, expect, it } from '@jest/globals';

import { createResponse, expectSameAfterEvery, expectWhole, readOn } from '../support/background/background-client.js';
import { endProcesses, type ServiceProcess, startReplica } from '../support/process-service.js';
import { describeRedis } from '../support/redis/describe-redis.js';
import { removeKeys } from '../support/redis/remove-keys.js';
import { EVERY_STATE } from '../support/state-backends.js';
import { WebhookReceiver } from '../support/webhooks/webhook-receiver.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const TURNS = 9;
/** The second one meets turns that were taken over already. */
const KILLS = 2;

afterEach(endProcesses);

describeRedis('two replicas with one Redis, of which one is killed twice', () => {
  it('two replicas end every background turn once while one is killed twice, and readers read on at the other', async () => {
    const redis = EVERY_STATE.find(({ state }) => state === 'redis');
    if (redis === undefined) throw new Error('there is no Redis');
    await using state = await redis.open();
    await using hooks = await WebhookReceiver.open();
    const environment = {
      ...state.environment,
      SSE_KEEPALIVE_MS: '600000',
      SIMULATOR_BACKGROUND_LATENCY: '100/8',
      BACKGROUND_MAX_RUNNING: '3',
      BACKGROUND_MAX_ATTEMPTS: String(KILLS + 1),
      WEBHOOK_URL: hooks.url,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_LOOPBACK: 'true',
    };
    const [first, survivor] = await Promise.all([startReplica(environment), startReplica(environment)]);
    let victim: ServiceProcess = first;
    const ids: string[] = [];
    for (let index = 0; index < TURNS; index += 1) {
      const { id } = await createResponse(index % 2 === 0 ? victim : survivor, {
        input: `Question ${index}`,
        text: { verbosity: 'low' },
      });
      ids.push(id);
    }
    // A third of the readers are at the one that dies, and come back to its port.
    const reading = ids.map((id, index) => readOn(index % 3 === 0 ? victim : survivor, id));
    for (let kill = 0; kill < KILLS; kill += 1) {
      victim.kill('SIGKILL');
      await victim.exited;
      // What shows that the dead one lives, by the clock of Redis.
      await removeKeys(state.environment['REDIS_URL'], `${state.environment['REDIS_PREFIX'] ?? ''}:*:lease`);
      victim = await startReplica(environment, first.port);
    }
    const streams = await Promise.all(reading);
    for (const [index, id] of ids.entries()) {
      const end = await expectWhole(index % 2 === 0 ? survivor : victim, id, streams[index] ?? '');
      expect(end).toMatchObject({ status: 'completed', output: [{ type: 'message' }] });
    }
    await expectSameAfterEvery([survivor, victim], ids[0] ?? '', streams[0] ?? '');
    const told = (): readonly string[] =>
      hooks.received.map(({ body }) => (JSON.parse(body) as { readonly data: { readonly id: string } }).data.id);
    while (new Set(told()).size < TURNS) await hooks.next;
    expect(new Set(told())).toEqual(new Set(ids));
    // One end is told again after a crash, but there is no second one.
    expect(new Set(hooks.received.map(({ headers }) => headers['webhook-id'])).size).toBe(TURNS);
  });
});
