// Slow: starts a service for each of its tests.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { DeletionNotices } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { type Replicas, SHARED_STATES, startReplicas } from '../support/state-backends.js';
import type { Service } from '../support/service.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import { openStream } from '../support/sse.js';

const ROUNDS = 100;

/** Resolves when a replica hears that a response is gone. */
function whenHeard({ app }: Service, id: string): Promise<void> {
  return new Promise((resolve) => {
    app.get(DeletionNotices).subscribe({
      deleted: (ids) => {
        if (ids.includes(id)) resolve();
      },
      interrupted: () => undefined,
      resumed: () => undefined,
    });
  });
}

describe.each(SHARED_STATES)('two replicas of a service over $state', ({ open: openState }) => {
  let replicas: Replicas;
  let one: Service;
  let two: Service;

  beforeAll(async () => {
    replicas = await startReplicas({ providers: [ScriptedProvider] }, undefined, openState);
    ({ one, two } = replicas);
    await Promise.all([untilItHears(one, two), untilItHears(two, one)]);
  });

  afterAll(() => replicas.close());

  /** Deletes on one replica until the other one hears of it: from then on its connections remember what is stored. */
  const untilItHears = async (listener: Service, other: Service): Promise<void> => {
    const api = new ApiClient(other.baseURL);
    const heard: string[] = [];
    while (heard.length === 0) {
      const { id } = await api.create({});
      void whenHeard(listener, id).then(() => heard.push(id));
      await api.delete(`responses/${id}`);
    }
  };

  const contextOf = ({ app }: Service): readonly string[] =>
    transcript(app.get(ScriptedProvider).turns.at(-1)?.context ?? []);

  /** Runs a stream up to its terminal event, and gives the id the instant that it is there. */
  const streamToEnd = async ({ baseURL }: Service, body: object): Promise<string> => {
    const answer = await openStream(`${baseURL}/responses`, { model: 'scripted', ...body });
    if (!answer.streams) throw new Error(`refused: ${JSON.stringify(answer.body)}`);
    for (;;) {
      const { value: event } = await answer.events.next();
      if (event === undefined) throw new Error('the stream ended without a terminal event');
      if (event.type !== 'response.completed') continue;
      void Array.fromAsync(answer.events);
      return (event['response'] as { readonly id: string }).id;
    }
  };

  describe('a conversation goes on at the other the instant its turn has ended', () => {
    const turnsOf: readonly (readonly [
      transport: string,
      open: (service: Service) => Promise<(body: object) => Promise<string>>,
    ])[] = [
      [
        'JSON',
        async ({ baseURL }) =>
          async (body) =>
            (await new ApiClient(baseURL).create(body)).id,
      ],
      ['SSE', async (service) => (body) => streamToEnd(service, body)],
      [
        'WebSocket',
        async (service) => {
          const client = await SocketClient.open(service);
          return async (body) => (await client.turn({ ...body })).response.id;
        },
      ],
    ];

    it.each(turnsOf)(
      'a conversation over %s goes on at the other replica the instant its turn has ended',
      async (_, open) => {
        const sides = [
          [one, await open(one)],
          [two, await open(two)],
        ] as const;
        const said: string[] = [];
        let previous_response_id: string | null = null;
        for (let round = 0; round < ROUNDS; round += 1) {
          const [service, turn] = sides[round % 2 === 0 ? 0 : 1];
          const input = `turn ${round}`;
          previous_response_id = await turn({ input, previous_response_id });
          expect(contextOf(service)).toEqual([...said, `user: ${input}`]);
          said.push(`user: ${input}`, 'assistant: ok');
        }
      },
    );

    it('a conversation goes on at another replica the instant its turn has ended, from every transport to every other', async () => {
      const sides = await Promise.all(
        turnsOf.flatMap(([, open]) => [one, two].map(async (service) => [service, await open(service)] as const)),
      );
      for (const [, turn] of sides) {
        const first = await turn({ input: 'One?' });
        for (const [service, next] of sides) {
          await next({ input: 'Two?', previous_response_id: first });
          expect(contextOf(service)).toEqual(['user: One?', 'assistant: ok', 'user: Two?']);
        }
      }
    });
  });

  it('two replicas show the same of everything', async () => {
    const here = new ApiClient(one.baseURL);
    const there = new ApiClient(two.baseURL);
    const { id } = await here.with({ 'x-session-id': 'shown' }).create({ metadata: { a: 'b' } });
    await there.create({ previous_response_id: id });
    for (const path of ['', '/input_items', '/children', '/siblings', '/leaves', '/tree'].map(
      (end) => `responses/${id}${end}`,
    )) {
      expect((await here.get(path)).body).toEqual((await there.get(path)).body);
    }
    for (const path of ['sessions/shown/responses', 'responses?metadata[a]=b', 'responses']) {
      expect((await here.get(path)).body).toEqual((await there.get(path)).body);
    }
  });

  describe.each<[place: string, deletedBy: () => Service]>([
    ['the same replica', () => one],
    ['the other replica', () => two],
  ])('a connection forgets what is deleted on %s', (_, deletedBy) => {
    it.each([
      ['with DELETE', (api: ApiClient, id: string) => api.delete(`responses/${id}`)],
      ['with a cascade', (api: ApiClient, id: string) => api.delete(`responses/${id}?cascade=true`)],
      ['with its session', (api: ApiClient, id: string) => api.delete(`sessions/${id}`)],
    ])('a connection forgets a response that is deleted %s', async (_how, remove) => {
      await using client = await SocketClient.open(one);
      const { id } = (await client.turn({ input: 'One?' })).response;
      const heard = whenHeard(one, id);
      expect((await remove(new ApiClient(deletedBy().baseURL), id)).status).toBe(200);
      await heard;
      expect(await client.refusal({ input: 'Two?', previous_response_id: id })).toMatchObject(parentNotFound(id));
    });

    it('a connection forgets all of a large subtree that is deleted', async () => {
      await using client = await SocketClient.open(one);
      const api = new ApiClient(deletedBy().baseURL);
      const root = await api.create({});
      // More than one notice can name.
      const children = await Promise.all(
        Array.from({ length: 50 }, () => api.create({ previous_response_id: root.id })),
      );
      const remembered = [];
      for (const [lane, { id }] of children.entries()) {
        const body = { stream_id: `lane-${lane % 25}`, input: 'Hi', previous_response_id: id };
        if (lane >= 25) remembered.push((await client.turn(body)).response.id);
      }
      const heard = Promise.all(remembered.map((id) => whenHeard(one, id)));
      await api.delete(`responses/${root.id}?cascade=true`);
      await heard;
      for (const [lane, id] of remembered.entries()) {
        const body = { stream_id: `lane-${lane}`, input: 'On', previous_response_id: id };
        expect(await client.refusal(body)).toMatchObject(parentNotFound(id));
      }
    });
  });

  it('two replicas fork and delete the sessions of each other', async () => {
    const here = new ApiClient(one.baseURL);
    const there = new ApiClient(two.baseURL);
    const { id } = await here.with({ 'x-session-id': 'here' }).create({});
    expect((await there.post('sessions/here/fork', { target_session_id: 'there' })).status).toBe(200);
    const forks = await Promise.all(
      [here, there, here, there].map((api) => api.post('sessions/here/fork', { target_session_id: 'contested' })),
    );
    expect(forks.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    expect((await there.delete('sessions/here')).status).toBe(200);
    expect((await here.get('sessions/here/responses')).status).toBe(404);
    expect(await here.idsOf('sessions/there/responses')).toEqual([id]);
  });
});
