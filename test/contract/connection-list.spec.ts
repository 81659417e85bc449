import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { postJson } from '../support/sse.js';
import { WatchedClock } from '../support/clocks.js';

const ALPHA = { authorization: 'Bearer sk-alpha' };
const BETA = { authorization: 'Bearer sk-beta' };

interface ConnectionList {
  readonly data: readonly { readonly id: string }[];
}

async function idsOf(answer: Response): Promise<readonly string[]> {
  return ((await answer.json()) as ConnectionList).data.map(({ id }) => id);
}

describe.each(['/v1', '/openai/v1'])('the connections of a tenant at %s', (prefix) => {
  const clock = new WatchedClock(Date.UTC(2026, 0, 1, 12, 0, 0, 987));
  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useService({
    providers: [ScriptedProvider],
    overrides: [[Clock, clock]],
    environment: { API_KEYS: 'alpha:sk-alpha,beta:sk-beta' },
  });
  let clients: SocketClient[];

  beforeEach(() => {
    clients = [];
  });

  afterEach(async () => {
    for (const client of clients) await client.close();
    while ((await list(ALPHA)).length + (await list(BETA)).length > 0);
  });

  const open = async (headers: Readonly<Record<string, string>>): Promise<SocketClient> => {
    const client = await SocketClient.open(service, { headers }, `${prefix}/responses`);
    clients.push(client);
    return client;
  };
  const request = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${service.origin}${prefix}${path}`, init);
  const list = async (headers: Readonly<Record<string, string>>): Promise<readonly string[]> =>
    idsOf(await request('/connections', { headers }));

  it('the connections of a tenant are listed, oldest first, with what runs and waits on their lanes', async () => {
    const held = new HeldTurns(service.app.get(ScriptedProvider)).hold(2);
    const busy = await open(ALPHA);
    for (const input of ['one', 'two', 'three']) busy.create({ stream_id: 'a', input });
    busy.create({ input: 'four' });
    await busy.roundTrip();
    await held.whenBegun(2);
    clock.advance(5000);
    await open(ALPHA);
    await open(BETA);
    const answer = await request('/connections', { headers: ALPHA });
    expect(answer.status).toBe(200);
    const body = (await answer.json()) as ConnectionList;
    const since = Math.floor(clock.now() / 1000);
    const id = expect.stringMatching(/^ws-[0-9a-f]{32}$/) as unknown;
    expect(body).toEqual({
      object: 'list',
      data: [
        {
          id,
          object: 'connection',
          since: since - 5,
          lanes: [
            { stream_id: 'a', in_flight: 1, queued: 2 },
            { stream_id: null, in_flight: 1, queued: 0 },
          ],
          in_flight: 2,
          queued: 2,
        },
        { id, object: 'connection', since, lanes: [], in_flight: 0, queued: 0 },
      ],
      first_id: body.data[0]?.id,
      last_id: body.data[1]?.id,
      has_more: false,
    });
    expect(await list(BETA)).toHaveLength(1);
    for (const text of ['one', 'two', 'three', 'four']) held.letGo(text);
  });

  it('a tenant has no connections at first', async () => {
    const answer = await request('/connections', { headers: ALPHA });
    const empty = { object: 'list', data: [], first_id: null, last_id: null, has_more: false };
    expect(await answer.json()).toEqual(empty);
  });

  it('a connection is retired by its tenant', async () => {
    const client = await open(ALPHA);
    const [id = ''] = await list(ALPHA);
    const answer = await request(`/connections/${id}`, { method: 'DELETE', headers: ALPHA });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ id, object: 'connection', deleted: true });
    expect(await client.closed).toEqual({ code: 1000, reason: 'connection_retired' });
  });

  it("the connections of a tenant are not found by others, just as those that never were, and stay others' own", async () => {
    const client = await open(ALPHA);
    const [id = ''] = await list(ALPHA);
    expect(await list(BETA)).toEqual([]);
    const unknown = `ws-${'0'.repeat(32)}`;
    for (const asked of [id, unknown, 'ws-', '__proto__', id.toUpperCase()]) {
      const answer = await request(`/connections/${asked}`, { method: 'DELETE', headers: BETA });
      expect(answer.status).toBe(404);
      expect(await answer.json()).toEqual({
        error: {
          message: `Connection with id '${asked}' not found.`,
          type: 'invalid_request_error',
          param: null,
          code: null,
        },
      });
    }
    expect(await list(ALPHA)).toEqual([id]);
    expect((await client.turn({ input: 'Hi' })).response.status).toBe('completed');
  });

  it('the connections of a tenant are shown to nobody without a key', async () => {
    await open(ALPHA);
    const [id = ''] = await list(ALPHA);
    for (const [path, method] of [
      ['/connections', 'GET'],
      [`/connections/${id}`, 'DELETE'],
    ] as const) {
      for (const headers of [{}, { authorization: 'Bearer sk-wrong' }]) {
        const answer = await request(path, { method, headers });
        expect(answer.status).toBe(401);
        expect(await answer.text()).not.toContain(id);
      }
    }
    expect(await list(ALPHA)).toEqual([id]);
  });

  it('the connections of a tenant do not count turns over HTTP', async () => {
    const answer = await postJson(
      `${service.origin}${prefix}/responses`,
      { model: 'scripted', input: 'Hi' },
      { headers: ALPHA },
    );
    expect(answer.status).toBe(200);
    expect(await list(ALPHA)).toEqual([]);
  });
});
