import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { type ApiAnswer, ApiClient } from '../support/api-client.js';
import { whenStill } from '../support/chat-upstream/when-still.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { type Service, SLOW_REFUSALS, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { transcript } from '../support/output.js';
import { pause } from '../support/pause.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { Refusal, type WireResponse } from '../support/transport.js';
import { REFUSED_TURNS, SESSION_TURNS, TRANSPORTS } from '../support/transports.js';

const NOT_SAVED = 'The response could not be saved. Please retry your request.';
const AWAY = {
  type: 'service_unavailable_error',
  code: 'service_unavailable',
  param: null,
  message: 'The storage is not available. Please retry your request.',
};

/** Nobody waits long for what does not answer. */
const IMPATIENT = { DATABASE_CONNECT_TIMEOUT_MS: 2000, DATABASE_STATEMENT_TIMEOUT_MS: 2000 };

describe('a database that is away', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let service: Service;
  let api: ApiClient;
  let provider: ScriptedProvider;
  /** What no client may ever read. */
  let secrets: readonly string[];

  const start = async (environment: Readonly<Record<string, unknown>> = {}): Promise<void> => {
    const url = new URL(database.url);
    url.port = String(proxy.port);
    service = await startService({
      providers: [ScriptedProvider],
      environment: {
        ...{ ...SLOW_REFUSALS, STATE: 'postgres', DATABASE_URL: url.href, WS_SESSION_LOCK: true },
        ...environment,
      },
    });
    api = new ApiClient(service.baseURL);
    provider = service.app.get(ScriptedProvider);
    const password = decodeURIComponent(url.password);
    secrets = [password, url.password, url.port, url.hostname, url.pathname.slice(1), 'ECONN', 'terminat', 'postgres'];
  };

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.open(Number(new URL(database.url).port));
  });

  afterEach(async () => {
    await proxy.restore();
    await service.close();
    await proxy.close();
    await database.drop();
  });

  const readiness = async (): Promise<readonly [status: number, text: string]> => {
    const answer = await fetch(`${service.origin}/readyz`);
    return [answer.status, await answer.text()];
  };

  /** Nothing but the service itself brings it back. */
  const whenReady = async (): Promise<void> => {
    while ((await readiness())[0] !== 200) await pause();
  };

  /** A response that is made as soon as the service can: one that does not wait long refuses also what a busy machine delays. */
  const createOnceServed = async (body: object): Promise<WireResponse> => {
    for (;;) {
      try {
        return await api.create(body);
      } catch (error) {
        expect(error).toMatchObject({ status: 503 });
      }
      await pause();
    }
  };

  const expectNoSecrets = (answer: unknown): void => {
    for (const secret of secrets) expect(JSON.stringify(answer)).not.toContain(secret);
  };

  /** Every request that needs it. */
  const requests = (
    id: string,
  ): readonly (readonly [method: 'get' | 'post' | 'delete', path: string, body?: unknown])[] => [
    ['get', 'responses'],
    ...['', '/input_items', '/children', '/siblings', '/leaves', '/tree'].map(
      (route) => ['get', `responses/${id}${route}`] as const,
    ),
    ['post', `responses/${id}/cancel`, {}],
    ['delete', `responses/${id}`],
    ['delete', `responses/${id}?cascade=true`],
    ['get', `sessions/${id}/responses`],
    ['post', `sessions/${id}/fork`, { target_session_id: 'fork' }],
    ['delete', `sessions/${id}`],
  ];

  it('the service refuses what needs a database that is away until it is back, and nothing is lost', async () => {
    await start();
    const made = await api.create({ metadata: { kept: 'yes' } });
    const before = (await api.get(`responses/${made.id}`)).body;
    await proxy.cut();
    for (const [method, path, body] of requests(made.id)) {
      const answer = await api[method](path, body);
      expect({ path, status: answer.status, body: answer.body }).toEqual({ path, status: 503, body: { error: AWAY } });
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect(await readiness()).toEqual([503, '{"status":"unavailable"}']);
    expect((await fetch(`${service.origin}/healthz`)).status).toBe(200);
    await proxy.restore();
    await whenReady();
    expect(await readiness()).toEqual([200, '{"status":"ready"}']);
    expect((await api.get(`responses/${made.id}`)).body).toEqual(before);
    await api.create({ previous_response_id: made.id });
    expect(provider.turns.at(-1)?.context).toHaveLength(3);
  });

  it.each(REFUSED_TURNS)(
    'the service refuses turns that need a database that is away before they begin: %s',
    async (_, refuse) => {
      await start();
      const { id, output } = await api.create({});
      const [item] = output as [{ readonly id: string }];
      await proxy.cut();
      for (const body of [
        { input: 'On', previous_response_id: id },
        { input: 'On', previous_response_id: id, store: false },
        { input: [{ type: 'item_reference', id: item.id }] },
      ]) {
        const refused = await refuse(service, { model: 'scripted', ...body });
        expect(refused).toMatchObject({ status: 503, retryAfter: '1', error: AWAY });
        expectNoSecrets(refused);
      }
      expect(provider.turns).toHaveLength(1);
    },
  );

  it.each(REFUSED_TURNS)('a database that is away lets no model work for what would be lost: %s', async (_, refuse) => {
    await start();
    await proxy.cut();
    // Each of the pool's connections hears of it by itself.
    await whenStill(() => 0);
    // From now on it is known.
    expect((await readiness())[0]).toBe(503);
    const refused = await refuse(service, { model: 'scripted', input: 'Hi' });
    expect(refused).toMatchObject({ status: 503, retryAfter: '1', error: AWAY });
    expectNoSecrets(refused);
    expect(provider.turns).toEqual([]);
  });

  it.each(SESSION_TURNS)(
    'the service refuses turns that name a session while the database is away: %s',
    async (_, turn) => {
      await start();
      await proxy.cut();
      await expect(turn(service, 'mine')).rejects.toMatchObject({ status: 503, body: { error: AWAY } });
      expect(provider.turns).toEqual([]);
      await proxy.restore();
      await whenReady();
      await expect(turn(service, 'mine')).resolves.toMatchObject({ status: 'completed' });
    },
  );

  it.each(TRANSPORTS)('a database that is away does not matter to what is not stored: $name', async (transport) => {
    await start();
    await proxy.cut();
    const { response } = await transport.run(service, { model: 'scripted', input: 'Hi', store: false });
    expect(response.status).toBe('completed');
  });

  it.each(TRANSPORTS)('a database that is away lets no turn say that it was saved: $name', async (transport) => {
    await start();
    const held = new HeldTurns(provider).hold();
    const turn = transport.run(service, { model: 'scripted', input: 'slow' }).catch((error: unknown) => error);
    await held.whenBegun(1);
    await proxy.cut();
    held.letGo('slow');
    const ended = await turn;
    expectNoSecrets(ended);
    if (transport.name === 'json') {
      expect(ended).toBeInstanceOf(Refusal);
      expect(ended).toMatchObject({ status: 503, body: { error: { ...AWAY, message: NOT_SAVED } } });
    } else {
      expect(ended).toMatchObject({
        response: { status: 'failed', error: { code: 'server_error', message: NOT_SAVED } },
      });
    }
    await proxy.restore();
    await whenReady();
    expect(await api.idsOf('responses')).toEqual([]);
    if (transport.name === 'json') return;
    const { id } = (ended as { readonly response: { readonly id: string } }).response;
    expect((await api.get(`responses/${id}`)).status).toBe(404);
    await expect(api.create({ previous_response_id: id })).rejects.toMatchObject({
      body: { error: { code: 'previous_response_not_found' } },
    });
  });

  it('a database that is away leaves sockets what they remember of what is not stored, and asks for the rest', async () => {
    await start();
    await using client = await SocketClient.open(service);
    const unstored = (await client.turn({ stream_id: 'a', input: 'One?', store: false })).response.id;
    const stored = (await client.turn({ stream_id: 'b', input: 'Kept?' })).response.id;
    await proxy.cut();
    const second = await client.turn({ stream_id: 'a', input: 'Two?', store: false, previous_response_id: unstored });
    expect(transcript(provider.turns.at(-1)?.context ?? [])).toEqual(['user: One?', 'assistant: ok', 'user: Two?']);
    const other = await client.refusal({ stream_id: 'c', input: 'On', previous_response_id: 'resp_elsewhere' });
    expect(other).toMatchObject({ status: 503, error: { ...AWAY, headers: { 'retry-after': '1' } } });
    expectNoSecrets(other);
    await proxy.restore();
    await whenReady();
    await client.turn({ stream_id: 'a', input: 'Three?', previous_response_id: second.response.id });
    await client.turn({ stream_id: 'b', input: 'Still?', previous_response_id: stored });
    expect(transcript(provider.turns.at(-1)?.context ?? [])).toEqual(['user: Kept?', 'assistant: ok', 'user: Still?']);
  });

  it('a database that is away is waited for no longer than it may take when it does not answer', async () => {
    await start(IMPATIENT);
    const { id } = await createOnceServed({});
    proxy.stall();
    const answers = await Promise.all([
      api.get(`responses/${id}`),
      api.post('responses', { model: 'scripted', input: 'On', previous_response_id: id }),
    ]);
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 503, body: { error: AWAY } });
      expectNoSecrets(answer.body);
    }
    expect((await readiness())[0]).toBe(503);
    await proxy.restore();
    await whenReady();
    expect(await createOnceServed({ previous_response_id: id })).toMatchObject({ status: 'completed' });
  });

  it.each([
    ['it cannot be reached', () => proxy.cut()],
    ['it does not answer', async () => proxy.stall()],
  ])('a database may come after the service, which then makes its tables: %s', async (_, takeAway) => {
    await takeAway();
    await start(IMPATIENT);
    expect(await readiness()).toEqual([503, '{"status":"unavailable"}']);
    expect(await api.get('responses')).toMatchObject({ status: 503, body: { error: AWAY } });
    const unstored = await api.create({ store: false });
    expect(unstored.status).toBe('completed');
    await proxy.restore();
    await whenReady();
    const { id } = await createOnceServed({});
    let listed = await api.get('responses');
    while (listed.status === 503) listed = await api.get('responses');
    expect(listed).toMatchObject({
      status: 200,
      body: { data: expect.arrayContaining([expect.objectContaining({ id })]) },
    });
  });

  it('a database whose connections break at any byte loses nothing that was answered, and no turn hangs', async () => {
    await start({ DATABASE_POOL_SIZE: 3 });
    const parent = await api.create({});
    const ask = (more: object): Promise<ApiAnswer> =>
      api.post('responses', { model: 'scripted', input: 'Hi', ...more });
    for (let bytes = 1; bytes < 2500; bytes += 61) {
      // One that stays locked for a while, where the answer was lost that would have told of its lock, is not used again.
      const { body: conversation } = await api.post('conversations', {});
      proxy.breakAfter(bytes);
      const answers = await Promise.all([
        ask({ previous_response_id: parent.id }),
        ask({ conversation: conversation['id'] }),
        ask({ background: true }),
        api.get(`responses/${parent.id}`),
      ]);
      for (const { status, body } of answers) {
        expect({ bytes, status, body }).toMatchObject(
          status === 200 ? {} : { status: 503, body: { error: { code: AWAY.code } } },
        );
      }
      await whenReady();
      for (const { status, body } of answers) {
        if (status === 200) expect((await api.get(`responses/${String(body['id'])}`)).status).toBe(200);
      }
    }
  });

  it('a database goes and comes as often as it likes', async () => {
    await start();
    let previous_response_id: string | null = null;
    for (let outage = 0; outage < 3; outage += 1) {
      previous_response_id = (await api.create({ previous_response_id })).id;
      await proxy.cut();
      expect((await readiness())[0]).toBe(503);
      await proxy.restore();
      await whenReady();
    }
    await api.create({ previous_response_id });
    expect(provider.turns.at(-1)?.context).toHaveLength(7);
  });
});
