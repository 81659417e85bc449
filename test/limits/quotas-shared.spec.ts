// Slow: starts replicas with databases.

import { afterEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, whenEnded } from '../support/background.js';
import { type Replicas, SHARED_STATES, startReplicas } from '../support/state-backends.js';
import type { Service } from '../support/service.js';
import { HeldTurns } from '../support/held-turns.js';
import { pause } from '../support/pause.js';
import { SocketClient } from '../support/socket-client.js';

describe.each(SHARED_STATES)('limits of replicas with $state', ({ open }) => {
  let replicas: Replicas;

  const start = async (environment: Readonly<Record<string, unknown>>): Promise<void> => {
    const options = { providers: [ScriptedProvider], environment };
    replicas = await startReplicas(options, options, open);
  };
  afterEach(() => replicas.close());

  const create = (replica: Service, input = 'hi'): Promise<Response> =>
    replica.client().responses.create({ model: 'scripted', input }).asResponse();

  it('replicas count their requests together', async () => {
    await start({ LIMIT_REQUESTS_PER_MINUTE: 3 });
    const { one, two } = replicas;
    const left = [];
    for (const replica of [one, two, one]) {
      left.push((await create(replica)).headers.get('x-ratelimit-remaining-requests'));
    }
    expect(left).toEqual(['2', '1', '0']);
    await expect(create(two)).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    await expect(create(one)).rejects.toMatchObject({ status: 429 });
  });

  it('replicas settle their tokens for each other', async () => {
    await start({ LIMIT_TOKENS_PER_MINUTE: 1000, LIMIT_OUTPUT_RESERVE: 0 });
    const { one, two } = replicas;
    one.app
      .get(ScriptedProvider)
      .reply(
        { type: 'text', delta: 'Hi' },
        { type: 'usage', input: 500, output: 490 },
        { type: 'finish', reason: 'stop' },
      );
    await create(one);
    for (;;) {
      const refusal = await create(two, 'x'.repeat(80)).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (refusal === undefined) {
        await pause();
        continue;
      }
      expect(refusal).toMatchObject({ status: 429, message: expect.stringContaining('tokens per minute') });
      return;
    }
  });

  it('replicas settle the last tokens when they stop', async () => {
    await start({ LIMIT_TOKENS_PER_MINUTE: 1000, LIMIT_OUTPUT_RESERVE: 0 });
    const { one, two } = replicas;
    one.app
      .get(ScriptedProvider)
      .reply(
        { type: 'text', delta: 'Hi' },
        { type: 'usage', input: 500, output: 490 },
        { type: 'finish', reason: 'stop' },
      );
    await create(one);
    await one.close();
    await expect(create(two, 'x'.repeat(80))).rejects.toMatchObject({ status: 429 });
  });

  it('replicas run no more turns at once than the limit, wherever they are asked for', async () => {
    await start({ LIMIT_CONCURRENT_TURNS: 3 });
    const { one, two } = replicas;
    const held = [one, two].map(({ app }) => new HeldTurns(app.get(ScriptedProvider)).hold(12));
    const nineRefused = Promise.withResolvers<undefined>();
    const refusals: unknown[] = [];
    const asked = Array.from({ length: 12 }, (_, turn) =>
      create(turn % 2 === 0 ? one : two, `turn ${turn}`).catch((error: unknown) => {
        if (refusals.push(error) === 9) nineRefused.resolve(undefined);
      }),
    );
    await nineRefused.promise;
    for (let turn = 0; turn < 12; turn += 1) held.forEach((turns) => turns.letGo(`turn ${turn}`));
    await Promise.all(asked);
    expect(held.flatMap(({ begun }) => begun)).toHaveLength(3);
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ status: 429, message: expect.stringContaining('concurrent turns: limit 3') });
    }
  });

  it('the replicas that are left have the places of one that stops', async () => {
    await start({ LIMIT_CONCURRENT_TURNS: 1, DRAIN_TIMEOUT_MS: 0 });
    const { one, two } = replicas;
    const held = new HeldTurns(one.app.get(ScriptedProvider)).hold();
    const running = create(one, 'running').catch(() => undefined);
    await held.whenBegun(1);
    await expect(create(two)).rejects.toMatchObject({
      status: 429,
      message: expect.stringContaining('concurrent turns: limit 1'),
    });
    await one.close();
    await running;
    expect((await create(two)).status).toBe(200);
  });

  it('replicas run no more background turns at once than the limit: the others wait', async () => {
    await start({ LIMIT_CONCURRENT_TURNS: 2 });
    const { one, two } = replicas;
    let [running, peak] = [0, 0];
    const bothRun = Promise.withResolvers<undefined>();
    for (const { app } of [one, two]) {
      app.get(ScriptedProvider).otherwise(async function* () {
        running += 1;
        peak = Math.max(peak, running);
        if (running === 2) bothRun.resolve(undefined);
        await bothRun.promise;
        yield { type: 'text', delta: 'ok' };
        running -= 1;
        yield { type: 'finish', reason: 'stop' };
      });
    }
    const created = [];
    for (let turn = 0; turn < 5; turn += 1) created.push(await createInBackground(turn % 2 === 0 ? one : two));
    for (const { id } of created) expect((await whenEnded(one, id)).status).toBe('completed');
    expect(peak).toBe(2);
  });

  it('replicas open no more sockets than the limit, and have the place of one that is closed', async () => {
    await start({ WS_MAX_CONNECTIONS_PER_TENANT: 2 });
    const { one, two } = replicas;
    const clients = await Promise.all([one, two, one, two].map((replica) => SocketClient.open(replica)));
    const isOpen = await Promise.all(
      clients.map(async (client) => {
        client.create({ model: 'scripted', input: 'hi' });
        const first = await client.next();
        if (first.type !== 'error') return true;
        expect(first).toMatchObject({ error: { code: 'websocket_connection_limit_reached' } });
        return false;
      }),
    );
    expect(isOpen.filter(Boolean)).toHaveLength(2);
    await clients[isOpen.indexOf(true)]?.[Symbol.asyncDispose]();
    // Its place is given back as soon as the service has seen its end.
    for (;;) {
      await using again = await SocketClient.open(two);
      again.create({ model: 'scripted', input: 'hi' });
      if ((await again.next()).type !== 'error') break;
      await pause();
    }
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
  });
});
