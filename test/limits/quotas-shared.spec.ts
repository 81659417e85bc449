// Slow: starts replicas with databases.

import { afterEach, describe, expect, it } from '@jest/globals';

import { OpenCounts } from '../../src/limits/open-counts.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { type Replicas, startReplicas } from '../support/replicas.js';
import type { Service } from '../support/service.js';
import { HeldTurns } from '../support/socket-held-turns.js';
import { SocketClient } from '../support/socket-client.js';
import { SHARED_STATES } from '../support/states.js';

const COUNTER = JSON.stringify(['*', '*', 'anybody']);

describe.each(SHARED_STATES)('limits of replicas with $state', ({ open }) => {
  let replicas: Replicas;

  const start = async (environment: Readonly<Record<string, unknown>>): Promise<void> => {
    const options = { providers: [ScriptedProvider], environment };
    replicas = await startReplicas(options, options, open);
  };
  afterEach(() => replicas.close());

  const create = (replica: Service, input = 'hi'): Promise<Response> =>
    replica.client().responses.create({ model: 'scripted', input }).asResponse();
  /** Resolves when a replica knows that so much is open. */
  const untilOpen = async ({ app }: Service, key: string, count: number): Promise<void> => {
    const counts = app.get(OpenCounts, { strict: false });
    while (counts.of(key) !== count) await new Promise(setImmediate);
  };

  it('count their requests together', async () => {
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

  it('settle their tokens for each other', async () => {
    await start({ LIMIT_TOKENS_PER_MINUTE: 1000 });
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
      if (refusal === undefined) continue;
      expect(refusal).toMatchObject({ status: 429, message: expect.stringContaining('tokens per minute') });
      return;
    }
  });

  it('settle the last tokens when they stop', async () => {
    await start({ LIMIT_TOKENS_PER_MINUTE: 1000 });
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

  it('know of the turns that run on others, until their replica stops', async () => {
    await start({ LIMIT_CONCURRENT_TURNS: 1 });
    const { one, two } = replicas;
    const held = new HeldTurns(one.app.get(ScriptedProvider)).hold();
    const running = create(one, 'running').then(({ status }) => status);
    await held.whenBegun(1);
    await untilOpen(two, COUNTER, 1);
    await expect(create(two)).rejects.toMatchObject({
      status: 429,
      message: expect.stringContaining('concurrent turns: limit 1'),
    });
    held.letAllGo();
    expect(await running).toBe(200);
    await one.close();
    await untilOpen(two, COUNTER, 0);
    expect((await create(two)).status).toBe(200);
  });

  it('know of the sockets that are open on others', async () => {
    await start({ WS_MAX_CONNECTIONS_PER_TENANT: 1 });
    const { one, two } = replicas;
    await using _first = await SocketClient.open(one);
    await untilOpen(two, JSON.stringify(['sockets', 'anybody']), 1);
    await using second = await SocketClient.open(two);
    expect(await second.next()).toMatchObject({ error: { code: 'websocket_connection_limit_reached' } });
  });
});
