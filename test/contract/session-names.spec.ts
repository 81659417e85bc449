import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { SESSION_TURNS } from '../support/transports.js';
import { SocketClient } from '../support/socket-client.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

describe.each(STATES)('the session of a response in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  let count = 0;

  const freshName = (): string => `session-${(count += 1)}`;
  const membersOf = (sessionId: string): Promise<readonly string[]> =>
    service.api.idsOf(`sessions/${encodeURIComponent(sessionId)}/responses?order=asc`);

  it.each(SESSION_TURNS)('the session of a response is the one that its turn names: %s', async (_, turn) => {
    const name = freshName();
    const first = await turn(service, name);
    const second = await turn(service, name, { previous_response_id: first.id });
    const apart = await turn(service, name);
    expect(await membersOf(name)).toEqual([first.id, second.id, apart.id]);
    await turn(service, freshName());
    expect(await membersOf(name)).toHaveLength(3);
  });

  it.each(SESSION_TURNS)('the session of a response is another one for another name: %s', async (_, turn) => {
    const [name, other] = [freshName(), freshName()];
    const response = await turn(service, name);
    const asked = service.provider.turns.length;
    await expect(turn(service, other, { previous_response_id: response.id })).rejects.toMatchObject({
      status: 400,
      body: {
        error: {
          code: 'previous_response_not_found',
          param: 'previous_response_id',
          message: `Previous response with id '${response.id}' not found.`,
        },
      },
    });
    expect(service.provider.turns).toHaveLength(asked);
    expect(await membersOf(name)).toEqual([response.id]);
    expect((await service.api.get(`sessions/${other}/responses`)).status).toBe(404);
  });

  it('the session of a response on a socket is the one of the frame before that of the upgrade', async () => {
    const [ofUpgrade, ofFrame] = [freshName(), freshName()];
    await using client = await SocketClient.open(service, { headers: { 'x-session-id': ofUpgrade } });
    const first = (await client.turn({ input: 'One', session_id: ofFrame })).response.id;
    const second = (await client.turn({ input: 'Two', session_id: null })).response.id;
    expect(await membersOf(ofFrame)).toEqual([first]);
    expect(await membersOf(ofUpgrade)).toEqual([second]);
  });

  it('the session of a response is named by warm-ups and appended turns as well', async () => {
    const name = freshName();
    await using client = await SocketClient.open(service);
    const warm = (await client.warmUp({ input: 'Get ready', session_id: name })).response;
    client.send({ type: 'response.append', input: [{ role: 'user', content: 'Go' }] });
    const appended = (await client.finish()).response;
    // All that is not input is the lane's.
    const more = { type: 'response.append', input: [{ role: 'user', content: 'On' }] };
    client.send({ ...more, session_id: `${name}-2` });
    expect(await client.next()).toMatchObject({ error: { code: 'unsupported_parameter', param: 'session_id' } });
    client.send({ ...more, session_id: name });
    const last = (await client.finish()).response;
    expect(await membersOf(name)).toEqual([warm.id, appended.id, last.id]);
  });

  it('the session of a turn that names none is that of the parent', async () => {
    const name = freshName();
    const root = await service.api.with({ 'x-session-id': name }).create({});
    const child = await service.api.create({ previous_response_id: root.id });
    await using client = await SocketClient.open(service);
    const grandchild = (await client.turn({ input: 'Hi', previous_response_id: child.id })).response;
    const last = (await client.turn({ input: 'Hi', previous_response_id: grandchild.id })).response;
    expect(await membersOf(name)).toEqual([root.id, child.id, grandchild.id, last.id]);
  });

  it('the session of a chain that nobody named is named like its first response', async () => {
    const root = await service.api.create({});
    const left = await service.api.create({ previous_response_id: root.id });
    const right = await service.api.create({ previous_response_id: root.id });
    const leaf = await service.api.create({ previous_response_id: right.id });
    expect(await membersOf(root.id)).toEqual([root.id, left.id, right.id, leaf.id]);
    for (const { id } of [left, right, leaf])
      expect((await service.api.get(`sessions/${id}/responses`)).status).toBe(404);
    const named = await service.api.with({ 'x-session-id': root.id }).create({ previous_response_id: left.id });
    expect(await membersOf(root.id)).toEqual([root.id, left.id, right.id, leaf.id, named.id]);
  });

  it('a session has no response that is not stored, but what is stored behind one', async () => {
    const name = freshName();
    const unstored = await service.api.with({ 'x-session-id': name }).create({ store: false });
    expect((await service.api.get(`sessions/${name}/responses`)).status).toBe(404);
    expect((await service.api.get(`sessions/${unstored.id}/responses`)).status).toBe(404);
    await using client = await SocketClient.open(service);
    const root = (await client.turn({ input: 'One', store: false })).response;
    const child = (await client.turn({ input: 'Two', previous_response_id: root.id })).response;
    expect(await membersOf(root.id)).toEqual([child.id]);
  });

  it.each(['a', '0', '__proto__', 'null', 'a/b', '%2F', '?x=1&y#z', '"<{[]}>"', `';--`, '\\', '~'.repeat(256)])(
    'a session may have the name %s',
    async (name) => {
      for (const [, turn] of SESSION_TURNS) {
        const { id } = await turn(service, name);
        expect((await membersOf(name)).at(-1)).toBe(id);
      }
      expect(await membersOf(name)).toHaveLength(SESSION_TURNS.length);
    },
  );

  it('a session is named by the SDK with a header', async () => {
    const name = freshName();
    const client = service.client();
    const headers = { 'x-session-id': name };
    const first = await client.responses.create({ model: 'scripted', input: 'One' }, { headers });
    const stream = client.responses.stream(
      { model: 'scripted', input: 'Two', previous_response_id: first.id },
      { headers },
    );
    const second = await stream.finalResponse();
    expect(await membersOf(name)).toEqual([first.id, second.id]);
    await expect(client.responses.retrieve(first.id, {}, { headers })).resolves.toMatchObject({ id: first.id });
  });
});
