import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { ConflictError } from 'openai';

import { WriteLock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { useServices } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import type { Service } from '../support/service.js';
import { SESSION_TURNS } from '../support/transports.js';
import { whenAsked } from './session-waiting.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { transcript } from '../support/output.js';
import { openStream } from '../support/sse.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

describe.each(STATES)('two turns that name one session in $state', ({ open }) => {
  let service: Service;
  let api: ApiClient;
  let mine: ApiClient;
  let provider: ScriptedProvider;
  let held: HeldTurns;
  const observer = new RecordingObserver();
  const serviceOf = useServices({ providers: [ScriptedProvider], imports: [observer.asModule()] }, (options) =>
    startServiceIn(open, options),
  );

  const start = async (environment: Readonly<Record<string, unknown>> = {}): Promise<void> => {
    service = await serviceOf({ WS_SESSION_LOCK: true, ...environment });
    observer.forget();
    api = new ApiClient(service.baseURL);
    mine = api.with({ 'x-session-id': 'mine' });
    provider = service.app.get(ScriptedProvider).reset();
    held = new HeldTurns(provider);
  };

  afterEach(async () => {
    jest.restoreAllMocks();
    for (const name of ['mine', 'yours', 'other', 'root']) await api.delete(`sessions/${name}`);
  });

  it.each(SESSION_TURNS)('turns that name one session run one after the other: %s', async (_, turn) => {
    await start();
    held.hold(2);
    const first = mine.create({ input: 'first' });
    await held.whenBegun(1);
    const asked = whenAsked(service);
    const second = turn(service, 'mine', { input: 'second' });
    await asked;
    expect(held.begun).toEqual(['first']);
    held.letGo('second');
    held.letGo('first');
    const made = [await first, await second];
    expect(held).toMatchObject({ begun: ['first', 'second'], peak: 1 });
    expect(await api.idsOf('sessions/mine/responses?order=asc')).toEqual(made.map(({ id }) => id));
  });

  it.each(SESSION_TURNS)('turns that name one session see what was made before them: %s', async (_, turn) => {
    await start();
    held.hold();
    const headers = { 'x-session-id': 'mine' };
    const first = await openStream(`${service.baseURL}/responses`, { model: 'scripted', input: 'first' }, { headers });
    if (!first.streams) throw new Error('the first turn was refused');
    const created = (await first.events.next()).value?.['response'] as { readonly id: string };
    const asked = whenAsked(service);
    const second = turn(service, 'mine', { input: 'second', previous_response_id: created.id });
    await asked;
    held.letGo('first');
    await expect(second).resolves.toMatchObject({ previous_response_id: created.id, status: 'completed' });
    await Array.fromAsync(first.events);
    expect(transcript(provider.turns.at(-1)?.context ?? [])).toEqual([
      'user: first',
      'assistant: re first',
      'user: second',
    ]);
  });

  it.each(SESSION_TURNS)(
    'a turn is refused when another turn holds its session too long: %s',
    async (_, turn, param) => {
      await start({ SESSION_LOCK_TIMEOUT_MS: 30 });
      held.hold();
      const first = mine.create({ input: 'first' });
      await held.whenBegun(1);
      await expect(turn(service, 'mine', { input: 'second' })).rejects.toMatchObject({
        status: 409,
        body: {
          error: {
            type: 'invalid_request_error',
            code: 'session_locked',
            param,
            message: 'Another request is writing to this session. Please retry when it is done.',
          },
        },
      });
      await expect(turn(service, 'yours', {})).resolves.toMatchObject({ status: 'completed' });
      expect(provider.turns).toHaveLength(2);
      held.letGo('first');
      await expect(first).resolves.toMatchObject({ status: 'completed' });
      await expect(turn(service, 'mine', {})).resolves.toMatchObject({ status: 'completed' });
    },
  );

  it('a turn that is refused for its session is told when to come back', async () => {
    await start({ SESSION_LOCK_TIMEOUT_MS: 0 });
    held.hold();
    const first = mine.create({ input: 'first' });
    await held.whenBegun(1);
    for (const stream of [false, true]) {
      const refused = await mine.post('responses', { model: 'scripted', input: 'second', stream });
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([409, '1']);
    }
    const options = { headers: { 'x-session-id': 'mine' } };
    const create = service.client().responses.create({ model: 'scripted', input: 'second' }, options);
    await expect(create).rejects.toBeInstanceOf(ConflictError);
    await using client = await SocketClient.open(service);
    expect(await client.refusal({ input: 'second', session_id: 'mine' })).toMatchObject({
      status: 409,
      error: { code: 'session_locked', headers: { 'retry-after': '1' } },
      headers: { 'retry-after': '1' },
    });
    held.letGo('first');
    await first;
  });

  it.each(['JSON', 'SSE', 'a socket'])(
    'turns that wait for a session give their place up when the client of one leaves: %s',
    async (transport) => {
      await start();
      held.hold();
      const first = mine.create({ input: 'first' });
      await held.whenBegun(1);
      const asked = whenAsked(service);
      if (transport === 'a socket') {
        const client = await SocketClient.open(service, { headers: { 'x-session-id': 'mine' } });
        client.create({ input: 'second' });
        await asked;
        client.socket.terminate();
      } else {
        const leaving = new AbortController();
        const gone = fetch(`${service.baseURL}/responses`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-session-id': 'mine' },
          body: JSON.stringify({ model: 'scripted', input: 'second', stream: transport === 'SSE' }),
          signal: leaving.signal,
        });
        await asked;
        leaving.abort();
        await expect(gone).rejects.toThrow();
      }
      // While the first one still runs.
      expect(await observer.whenSettled(1)).toMatchObject([{ status: 'disconnected' }]);
      expect(held.running).toBe(1);
      const tries = jest.spyOn(service.app.get(WriteLock), 'tryAcquire');
      held.letGo('first');
      await first;
      await mine.create({ input: 'third' });
      expect(tries).toHaveBeenCalledTimes(1);
      expect(provider.turns.map(({ input }) => transcript(input)[0])).toEqual(['user: first', 'user: third']);
    },
  );

  it('turns that name one session are all let in when many wait', async () => {
    await start();
    held.hold();
    const first = mine.create({ input: 'first' });
    await held.whenBegun(1);
    const asked = whenAsked(service);
    const others = Array.from({ length: 20 }, (_, turn) => mine.create({ input: `turn ${turn}` }));
    await asked;
    held.letGo('first');
    const made = await Promise.all([first, ...others]);
    expect(new Set(await api.idsOf('sessions/mine/responses?limit=100'))).toEqual(new Set(made.map(({ id }) => id)));
  });

  it('turns run at once when they name another session, or none', async () => {
    await start({ SESSION_LOCK_TIMEOUT_MS: 0 });
    const root = await api.with({ 'x-session-id': 'root' }).create({});
    held.hold(4);
    const turns = [
      mine.create({ input: 'mine' }),
      api.with({ 'x-session-id': 'yours' }).create({ input: 'yours' }),
      // Two branches of a session that neither names.
      api.create({ input: 'left', previous_response_id: root.id }),
      api.create({ input: 'right', previous_response_id: root.id }),
    ];
    await held.whenBegun(4);
    held.letAllGo();
    for (const { status } of await Promise.all(turns)) expect(status).toBe('completed');
    expect(await api.idsOf('sessions/root/responses')).toHaveLength(3);
  });

  it('turns of one session run at once on sockets unless WS_SESSION_LOCK says otherwise', async () => {
    await start({ WS_SESSION_LOCK: false, SESSION_LOCK_TIMEOUT_MS: 0 });
    held.hold(3);
    await using client = await SocketClient.open(service, { headers: { 'x-session-id': 'mine' } });
    client.create({ stream_id: 'a', input: 'one' });
    client.create({ stream_id: 'b', input: 'two', session_id: 'mine' });
    await held.whenBegun(2);
    // Nor do they keep anybody else out.
    const http = mine.create({ input: 'three' });
    await held.whenBegun(3);
    held.letAllGo();
    for (const lane of ['a', 'b']) {
      expect(await client.nextEnd(lane)).toMatchObject({ type: 'response.completed' });
    }
    await http;
    expect(await api.idsOf('sessions/mine/responses')).toHaveLength(3);
  });

  it.each([
    ['a fork into it', () => api.post('sessions/other/fork', { target_session_id: 'mine' }), 409],
    ['its deletion', () => api.delete('sessions/mine'), 200],
  ])('turns that name one session keep out what else would change it: %s', async (_, change, status) => {
    await start();
    await api.with({ 'x-session-id': 'other' }).create({});
    held.hold();
    const first = mine.create({ input: 'first' });
    await held.whenBegun(1);
    const asked = whenAsked(service);
    const changed = change();
    await asked;
    held.letGo('first');
    const { id } = await first;
    expect(await changed).toMatchObject({ status });
    expect((await api.get(`responses/${id}`)).status).toBe(status === 200 ? 404 : 200);
  });
});
