import { beforeAll, describe, expect, it, jest } from '@jest/globals';

import { ModelError, WriteLock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { Clock } from '../../src/time/index.js';
import { ApiClient } from '../support/api-client.js';
import { useService } from '../support/describe-service.js';
import type { Service } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { openStream } from '../support/sse.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

/** How long the service waits for a lock that it gives back, ms. */
const RELEASE_LIMIT_MS = 1000;
const FOR_EVER_MS = 600_000;

/** Makes giving a session back take as long as some requests: who does not wait for it is found out. */
function slowDownReleases({ app, origin }: Service): void {
  const locks = app.get(WriteLock);
  const tryAcquire = locks.tryAcquire.bind(locks);
  jest.spyOn(locks, 'tryAcquire').mockImplementation(async (...names) => {
    const lease = await tryAcquire(...names);
    if (lease === undefined) return undefined;
    const release = async (): Promise<void> => {
      for (let request = 0; request < 5; request += 1) await fetch(`${origin}/healthz`);
      await lease.release();
    };
    return { fence: lease.fence, renew: () => lease.renew(), release };
  });
  // On a slow machine they would take longer than a release may.
  const clock = app.get(Clock);
  const within = clock.within.bind(clock);
  jest
    .spyOn(clock, 'within')
    .mockImplementation((promise, limitMs) => within(promise, limitMs === RELEASE_LIMIT_MS ? FOR_EVER_MS : limitMs));
}

const ROUNDS = 10;

/** Nobody waits here: a session that is not free yet refuses. */
const ENVIRONMENT = { SESSION_LOCK_TIMEOUT_MS: 0, SESSION_MAX_RESPONSES: 0, WS_SESSION_LOCK: true };

describe.each(STATES)('a session in $state', ({ open }) => {
  const service = useService(() =>
    startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: ENVIRONMENT,
    }),
  );
  let mine: ApiClient;

  beforeAll(() => {
    mine = new ApiClient(service.baseURL, { 'x-session-id': 'mine' });
    slowDownReleases(service);
  });

  /** Runs a turn as a stream and gives its response the instant the terminal event is there. */
  const streamToEnd = async (body: object = {}): Promise<{ readonly id: string; readonly status: string }> => {
    const request = { model: 'scripted', input: 'Hi', ...body };
    const answer = await openStream(`${service.baseURL}/responses`, request, {
      headers: { 'x-session-id': 'mine' },
    });
    if (!answer.streams) throw new Error(`refused: ${JSON.stringify(answer.body)}`);
    for (;;) {
      const { value: event } = await answer.events.next();
      if (event === undefined) throw new Error('the stream ended without a terminal event');
      if (/^response\.(?:completed|failed|incomplete)$/.test(event.type)) {
        // What is left of the stream must not end with this request.
        void Array.fromAsync(answer.events);
        return event['response'] as { readonly id: string; readonly status: string };
      }
    }
  };

  it('a session is free when the terminal event of its turn arrives on a stream', async () => {
    let previous_response_id: string | null = null;
    for (let round = 0; round < ROUNDS; round += 1) {
      previous_response_id = (await streamToEnd({ previous_response_id })).id;
      previous_response_id = (await mine.create({ previous_response_id })).id;
    }
  });

  it('a session is free when the terminal event of its turn arrives on a socket', async () => {
    await using client = await SocketClient.open(service, { headers: { 'x-session-id': 'mine' } });
    let previous_response_id: string | null = null;
    for (let round = 0; round < ROUNDS; round += 1) {
      const stream_id = `lane-${round % 2}`;
      previous_response_id = (await client.turn({ stream_id, input: 'Hi', previous_response_id })).response.id;
      previous_response_id = (await mine.create({ previous_response_id })).id;
    }
  });

  it.each([
    ['fails', () => service.provider.play(failing), 'failed'],
    ['is incomplete', () => service.provider.reply({ type: 'finish', reason: 'length' }), 'incomplete'],
  ])('a session is free when a turn %s', async (_, script, status) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      script();
      expect((await streamToEnd()).status).toBe(status);
      await mine.create({});
    }
  });

  it.each([
    ['for its parent', { previous_response_id: 'resp_unknown' }, 400],
    ['for an item', { input: [{ type: 'item_reference', id: 'msg_unknown' }] }, 404],
    ['for its input', { input: [{ type: 'function_call_output', call_id: 'call_1', output: '' }] }, 400],
  ])('a session is free when a turn was refused %s', async (_, body, status) => {
    await using client = await SocketClient.open(service, { headers: { 'x-session-id': 'mine' } });
    for (let round = 0; round < ROUNDS; round += 1) {
      const refused = await mine.post('responses', {
        model: 'scripted',
        input: 'Hi',
        stream: round % 2 === 0,
        ...body,
      });
      expect(refused.status).toBe(status);
      await mine.create({});
      client.create({ input: 'Hi', ...body });
      expect(await client.nextEnd()).toMatchObject({ type: 'error', status });
      await mine.create({});
    }
  });

  it('a session is free when a model refuses', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      service.provider.play(() => {
        throw new ModelError('rate_limit_exceeded', 'Slow down.', { status: 429 });
      });
      expect((await mine.post('responses', { model: 'scripted', input: 'Hi' })).status).toBe(429);
      await mine.create({});
    }
  });
});

/** Breaks in the middle of its answer. */
async function* failing(): AsyncGenerator<{ readonly type: 'text'; readonly delta: string }> {
  yield { type: 'text', delta: 'I was' };
  throw new ModelError('server_error', 'It broke.');
}

describe('a full session', () => {
  it.each(STATES)('a full session is free when a turn was refused for that ($state)', async ({ open }) => {
    await using service = await startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: { ...ENVIRONMENT, SESSION_MAX_RESPONSES: 1 },
    });
    slowDownReleases(service);
    const mine = new ApiClient(service.baseURL, { 'x-session-id': 'mine' });
    await mine.create({});
    for (let round = 0; round < ROUNDS; round += 1) {
      expect((await mine.post('responses', { model: 'scripted', input: 'Hi' })).status).toBe(400);
      await mine.create({ store: false });
    }
  });
});
