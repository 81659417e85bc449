// Slow: starts the built service as several processes, and ends them.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import {
  cancelResponse,
  createResponse,
  eventsOf,
  expectSameAfterEvery,
  expectWhole,
  follow,
  readWhole,
} from '../support/background/background-client.js';
import { framesOf } from '../support/background.js';
import { type HeldModels, openModels } from '../support/background/held-models.js';
import { loseWorkers } from './job-table.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';
import { WebhookReceiver } from '../support/webhooks/webhook-receiver.js';

const NEVER = '600000';
const STALL = { breaks: { after: 4, by: 'stall' } } as const;

let database: TestDatabase;
let models: HeldModels<'a' | 'b' | 'c'>;

beforeEach(async () => {
  database = await createTestDatabase();
  models = await openModels('a', 'b', 'c');
});

afterEach(async () => {
  await endProcesses();
  await models[Symbol.asyncDispose]();
  await database.drop();
});

function start(variables: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  return startProcess({
    STATE: 'postgres',
    DATABASE_URL: database.url,
    PROVIDERS_FILE: models.providersFile,
    LOG_LEVEL: 'error',
    SSE_KEEPALIVE_MS: NEVER,
    ...variables,
  });
}

const onlyServes = { BACKGROUND_MAX_RUNNING: '0' };

describe('a worker that stands still', () => {
  it('a worker that stands still can write nothing more once another has its turns, nor to those that were cancelled', async () => {
    const { a, b, c } = models.upstreams;
    const [server, sleeper] = await Promise.all([start(onlyServes), start()]);
    const half = ['half', ' a', ' b', ' c'];
    a.answer({ text: half }, STALL).answer({ text: 'whole' });
    b.answer({ text: half }, STALL);
    // The rest of this one is there when the worker wakes up.
    c.hold().answer({ text: half }).answer({ text: 'whole' });
    c.release(4);
    const [silent, cancelled, ended] = (await Promise.all(
      ['a', 'b', 'c'].map(async (model) => (await createResponse(server, { model })).id),
    )) as [string, string, string];
    const ids = [silent, cancelled, ended];
    const streams = await Promise.all(ids.map((id) => follow(server, id)));
    await Promise.all(streams.map((stream) => stream.until('half')));
    const requests = await Promise.all([a.received(1), b.received(1)]);

    sleeper.kill('SIGSTOP');
    expect(await cancelResponse(server, cancelled)).toMatchObject({ status: 'cancelled', usage: null });
    const heir = await start();
    c.release();
    await loseWorkers(database);
    const wholes = await Promise.all(streams.map(({ whole }) => whole));
    const ends = await Promise.all(ids.map((id, index) => expectWhole(server, id, wholes[index] ?? '')));
    expect(ends).toMatchObject([
      { status: 'completed', output: [{ content: [{ text: 'whole' }] }] },
      { status: 'cancelled', output: [{ status: 'incomplete' }] },
      { status: 'completed', output: [{ content: [{ text: 'whole' }] }] },
    ]);

    sleeper.kill('SIGCONT');
    await Promise.all(requests.map(({ closed }) => closed));
    // It serves again, and shows the same.
    for (const id of ids) await readWhole(sleeper, id);
    for (const service of [sleeper, heir]) service.kill('SIGTERM');
    expect(await Promise.all([sleeper.exited, heir.exited])).toMatchObject([{ code: 0 }, { code: 0 }]);
    const later = await Promise.all(ids.map(async (id) => (await follow(server, id)).whole));
    expect(later).toEqual(wholes);
    expect(await database.query('SELECT FROM antiphon_jobs.job')).toEqual([]);
  });
});

describe('a creator whose replica is killed', () => {
  it('the stream of a creator whose replica is killed goes on elsewhere from every event, while the turn runs and afterwards', async () => {
    const { a } = models.upstreams;
    const [victim, survivor] = await Promise.all([start(onlyServes), start()]);
    const pieces = Array.from({ length: 12 }, (_, index) => ` word${index}`);
    a.hold().answer({ text: pieces });
    a.release(8);
    const creator = await victim.client.stream({ model: 'a', background: true });
    const begun = await creator.until('word5');
    victim.kill('SIGKILL');
    await creator.whole.catch(() => undefined);
    const [first] = eventsOf(begun);
    const { id } = first?.['response'] as { readonly id: string };
    const frames = framesOf(begun);
    const readers = await Promise.all(frames.map((_, after) => follow(survivor, id, after)));
    await Promise.all(readers.map((reader, after) => reader.until(frames[after + 1] ?? '')));
    a.release();
    const rests = await Promise.all(readers.map(({ whole }) => whole));
    const whole = `${frames[0] ?? ''}${rests[0] ?? ''}`;
    expect(whole.startsWith(begun)).toBe(true);
    rests.forEach((rest, after) => expect(framesOf(rest)).toEqual(framesOf(whole).slice(after + 1)));
    await expectWhole(survivor, id, whole);
    await expectSameAfterEvery([survivor], id, whole);
  });
});

describe('the webhook of an end', () => {
  it('the webhook of an end is sent after a crash in the middle of sending, with the same id', async () => {
    await using hooks = await WebhookReceiver.open();
    // The first delivery is never answered.
    hooks.answers.push(() => undefined);
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const variables = { WEBHOOK_URL: hooks.url, WEBHOOK_SECRET: secret, WEBHOOK_ALLOW_LOOPBACK: 'true' };
    const victim = await start({ ...variables, WEBHOOK_TIMEOUT_MS: NEVER });
    const { id } = await createResponse(victim, { model: 'a' });
    while (hooks.received.length < 1) await hooks.next;
    const heir = start(variables);
    victim.kill('SIGKILL');
    const survivor = await heir;
    await loseWorkers(database);
    while (hooks.received.length < 2) await hooks.next;
    const [one, two] = hooks.received;
    expect(one?.headers['webhook-id']).toBeTruthy();
    expect(two?.headers['webhook-id']).toBe(one?.headers['webhook-id']);
    expect(two?.body).toBe(one?.body);
    expect(JSON.parse(two?.body ?? '')).toMatchObject({ type: 'response.completed', data: { id } });
    survivor.kill('SIGTERM');
    await survivor.exited;
    expect(hooks.received).toHaveLength(2);
    expect(await database.query('SELECT FROM antiphon_jobs.job')).toEqual([]);
  });
});
