import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const KEYS = { alice: 'sk-alice', bob: 'sk-bob' } as const;
type Tenant = keyof typeof KEYS;

describe.each(STATES)('two tenants on sockets in $state', ({ open: openState }) => {
  const service = useService(() =>
    startServiceIn(openState, {
      providers: [ScriptedProvider],
      environment: { API_KEYS: `alice:${KEYS.alice},bob:${KEYS.bob}` },
    }),
  );

  const authorization = (tenant: Tenant): Record<string, string> => ({ authorization: `Bearer ${KEYS[tenant]}` });
  const open = (tenant: Tenant): Promise<SocketClient> =>
    SocketClient.open(service, { headers: authorization(tenant) });
  const remove = (tenant: Tenant, id: string): Promise<Response> =>
    fetch(`${service.baseURL}/responses/${id}`, { method: 'DELETE', headers: authorization(tenant) });

  /** All a client can tell about a frame, without the id it asked for and the id of the request. */
  const observe = (frame: WireEvent, id: string): string =>
    JSON.stringify(frame)
      .replaceAll(id, '<id>')
      .replaceAll(/req_\w+/g, '<request>');

  it.each([
    ['continue it', (id: string) => ({ previous_response_id: id, input: 'Go on.' })],
    ['warm up from it', (id: string) => ({ previous_response_id: id, generate: false })],
    ['continue it in its session', (id: string) => ({ previous_response_id: id, input: 'Go on.', session_id: id })],
    ['continue it on a named lane', (id: string) => ({ previous_response_id: id, input: 'Go on.', stream_id: 'a' })],
    ['refer to its item', (id: string) => ({ input: [{ type: 'item_reference', id: `msg_of_${id}` }] })],
  ])('a tenant on a socket sees a response of another as one that does not exist: %s', async (_, body) => {
    await using alice = await open('alice');
    await using bob = await open('bob');
    const { response } = await alice.turn({ input: 'Mine.' });
    const asked = service.provider.turns.length;
    const foreign = observe(await bob.refusal(body(response.id)), response.id);
    const missing = 'resp_0123456789abcdef0123456789abcdef';
    expect(foreign).toBe(observe(await bob.refusal(body(missing)), missing));
    expect(service.provider.turns).toHaveLength(asked);
    await alice.turn({ input: 'Again.', previous_response_id: response.id });
    expect(service.provider.turns.at(-1)?.context).toHaveLength(3);
  });

  it('a tenant on a socket refuses items of another by their ids', async () => {
    await using alice = await open('alice');
    await using bob = await open('bob');
    const { response } = await alice.turn({ input: 'Mine.' });
    const [{ id }] = response['output'] as [{ readonly id: string }];
    const input = [{ type: 'item_reference', id }];
    expect(await bob.refusal({ input })).toMatchObject({ status: 404, error: { code: null, param: 'input' } });
    await alice.turn({ input });
    expect(service.provider.turns.at(-1)?.context).toMatchObject([{ id, role: 'assistant' }]);
  });

  it('the sockets of one tenant share what is stored', async () => {
    await using one = await open('alice');
    await using two = await open('alice');
    const { response } = await one.turn({ input: 'Mine.' });
    await two.turn({ input: 'Again.', previous_response_id: response.id });
    expect(service.provider.turns.at(-1)?.context).toHaveLength(3);
  });

  it('a socket forgets nothing because another tenant deletes', async () => {
    await using alice = await open('alice');
    const stored = (await alice.turn({ stream_id: 'a', input: 'Mine.' })).response.id;
    const unstored = (await alice.turn({ stream_id: 'b', input: 'Mine.', store: false })).response.id;
    for (const id of [stored, unstored]) expect((await remove('bob', id)).status).toBe(404);
    // What is not stored cannot be deleted either.
    expect((await remove('alice', unstored)).status).toBe(404);
    await alice.turn({ stream_id: 'b', input: 'Again.', previous_response_id: unstored });
    await alice.turn({ stream_id: 'a', input: 'Again.', store: false, previous_response_id: stored });
    expect((await remove('alice', stored)).status).toBe(200);
    expect(await alice.refusal({ input: 'Hi', previous_response_id: stored })).toMatchObject(parentNotFound(stored));
  });
});
