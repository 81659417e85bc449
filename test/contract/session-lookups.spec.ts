import { beforeAll, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import type { ApiClient } from '../support/api-client.js';
import { type ApiAnswer } from '../support/api-client.js';
import { useService } from '../support/describe-service.js';
import { SESSION_TURNS } from '../support/transports.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import type { WireResponse } from '../support/transport.js';

/** Every look-up of a response by its id. */
const LOOKUPS: readonly (readonly [name: string, ask: (api: ApiClient, id: string) => Promise<ApiAnswer>])[] = [
  ['retrieve', (api, id) => api.get(`responses/${id}`)],
  ['input_items', (api, id) => api.get(`responses/${id}/input_items`)],
  ['children', (api, id) => api.get(`responses/${id}/children`)],
  ['siblings', (api, id) => api.get(`responses/${id}/siblings`)],
  ['leaves', (api, id) => api.get(`responses/${id}/leaves`)],
  ['tree', (api, id) => api.get(`responses/${id}/tree`)],
  ['turn', (api, id) => api.get(`responses/${id}/turn`)],
  ['cancel', (api, id) => api.post(`responses/${id}/cancel`, {})],
  ['delete', (api, id) => api.delete(`responses/${id}`)],
  ['delete all that continues it', (api, id) => api.delete(`responses/${id}?cascade=true`)],
];

describe.each(STATES)('a look-up that names a session in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  let mine: ApiClient;
  let other: ApiClient;

  beforeAll(async () => {
    mine = service.api.with({ 'x-session-id': 'mine' });
    other = service.api.with({ 'x-session-id': 'other' });
    await other.create({});
  });

  const itemOf = ({ output }: WireResponse): string => (output as [{ readonly id: string }])[0].id;

  it.each(LOOKUPS)('a look-up that names a session finds nothing outside of it: %s', async (_, ask) => {
    const { id } = await mine.create({});
    const { status, body } = await ask(other, id);
    expect({ status, body }).toEqual({
      status: 404,
      body: {
        error: {
          type: 'invalid_request_error',
          code: null,
          param: null,
          message: `Response with id '${id}' not found.`,
        },
      },
    });
    expect((await service.api.get(`responses/${id}`)).status).toBe(200);
  });

  it.each(LOOKUPS)('a look-up that names a session finds what is in it: %s', async (name, ask) => {
    const { id } = await mine.create({});
    expect((await ask(mine, id)).status).toBe(name === 'cancel' ? 400 : 200);
  });

  it.each(LOOKUPS)(
    'a look-up that names a session finds in the session of a chain what nobody put in another: %s',
    async (name, ask) => {
      const root = await service.api.create({});
      const child = await service.api.create({ previous_response_id: root.id });
      expect((await ask(service.api.with({ 'x-session-id': child.id }), child.id)).status).toBe(404);
      const answer = await ask(service.api.with({ 'x-session-id': root.id }), child.id);
      expect(answer.status).toBe(name === 'cancel' ? 400 : 200);
    },
  );

  it.each(SESSION_TURNS)('a look-up that names a session finds the items of no other session: %s', async (_, turn) => {
    const response = await mine.create({});
    const input = [{ type: 'item_reference', id: itemOf(response) }];
    await expect(turn(service, 'other', { input })).rejects.toMatchObject({
      status: 404,
      body: { error: { code: null, param: 'input' } },
    });
    await expect(turn(service, 'mine', { input })).resolves.toMatchObject({ status: 'completed' });
    await expect(service.api.create({ input })).resolves.toMatchObject({ status: 'completed' });
  });

  it.each(SESSION_TURNS)('a look-up that names a session finds parents of no other session: %s', async (_, turn) => {
    const { id } = await mine.create({});
    await expect(turn(service, 'other', { previous_response_id: id })).rejects.toMatchObject({
      body: { error: { code: 'previous_response_not_found' } },
    });
    await expect(turn(service, 'mine', { previous_response_id: id })).resolves.toMatchObject({ status: 'completed' });
  });

  it('a look-up that names a session does not find on a socket what the connection remembers of another session', async () => {
    await using client = await SocketClient.open(service);
    for (const store of [true, false]) {
      const { id } = (await client.turn({ stream_id: 'a', input: 'Hi', session_id: 'mine', store })).response;
      const fork = { stream_id: 'b', input: 'On', store, previous_response_id: id };
      expect(await client.refusal({ ...fork, session_id: 'other' })).toMatchObject({
        ...parentNotFound(id),
        stream_id: 'b',
      });
      for (const session_id of ['mine', null]) {
        expect((await client.turn({ ...fork, session_id })).response.status).toBe('completed');
      }
    }
  });

  it('a look-up that names a session lists what is in both the session of the header and the filter', async () => {
    const { id } = await mine.create({ metadata: { only: 'this' } });
    expect(await mine.idsOf('responses?metadata[only]=this')).toEqual([id]);
    expect(await other.idsOf('responses?metadata[only]=this')).toEqual([]);
    expect(await mine.idsOf('responses?metadata[only]=this&session_id=mine')).toEqual([id]);
    expect(await mine.get('responses?session_id=other')).toMatchObject({
      status: 400,
      body: { error: { code: 'mutually_exclusive_parameters', param: 'session_id' } },
    });
  });

  it('a look-up that names a session sees of a graph what is in the session', async () => {
    const root = await service.api.with({ 'x-session-id': 'source' }).create({});
    const inSource = await service.api.create({ previous_response_id: root.id });
    expect((await service.api.post('sessions/source/fork', { target_session_id: 'copy' })).status).toBe(200);
    const copy = service.api.with({ 'x-session-id': 'copy' });
    const inCopy = await copy.create({ previous_response_id: root.id });
    expect(await service.api.idsOf(`responses/${root.id}/children?order=asc`)).toEqual([inSource.id, inCopy.id]);
    expect(await copy.idsOf(`responses/${root.id}/children?order=asc`)).toEqual([inSource.id, inCopy.id]);
    const source = service.api.with({ 'x-session-id': 'source' });
    expect(await source.idsOf(`responses/${root.id}/children`)).toEqual([inSource.id]);
    expect(await source.idsOf(`responses/${inSource.id}/siblings`)).toEqual([]);
    expect(await copy.idsOf(`responses/${inSource.id}/siblings`)).toEqual([inCopy.id]);
    expect(await source.idsOf(`responses/${root.id}/leaves`)).toEqual([inSource.id]);
    expect(await copy.idsOf(`responses/${root.id}/leaves?order=asc`)).toEqual([inSource.id, inCopy.id]);
  });
});
