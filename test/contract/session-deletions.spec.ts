import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

describe.each(STATES)('a session that is deleted in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));

  const statusOf = async (id: string): Promise<number> => (await service.api.get(`responses/${id}`)).status;

  it('a deleted session is gone with its responses, once', async () => {
    const session = service.api.with({ 'x-session-id': 'gone' });
    const first = await session.create({});
    const second = await session.create({ previous_response_id: first.id });
    const deleted = await service.api.delete('sessions/gone');
    expect(deleted).toMatchObject({ status: 200 });
    expect(deleted.body).toEqual({ id: 'gone', object: 'session', deleted: true });
    for (const { id } of [first, second]) {
      expect(await statusOf(id)).toBe(404);
      await expect(service.api.create({ previous_response_id: id })).rejects.toMatchObject({
        body: { error: { code: 'previous_response_not_found' } },
      });
    }
    for (const answer of [
      await service.api.delete('sessions/gone'),
      await service.api.get('sessions/gone/responses'),
    ]) {
      expect(answer).toMatchObject({ status: 404, body: { error: { message: "Session with id 'gone' not found." } } });
    }
  });

  it('a deleted session leaves other sessions what they share with it', async () => {
    const session = service.api.with({ 'x-session-id': 'shared' });
    const first = await session.create({});
    const second = await session.create({ previous_response_id: first.id });
    await service.api.post('sessions/shared/fork', { target_session_id: 'sharing', up_to_response_id: first.id });
    await service.api.delete('sessions/shared');
    expect([await statusOf(first.id), await statusOf(second.id)]).toEqual([200, 404]);
    expect(await service.api.idsOf('sessions/sharing/responses')).toEqual([first.id]);
    await service.api.delete('sessions/sharing');
    expect(await statusOf(first.id)).toBe(404);
  });

  it('a deleted session leaves what continues it in another session its context', async () => {
    const root = await service.api.with({ 'x-session-id': 'source' }).create({ input: 'One?' });
    await service.api.post('sessions/source/fork', { target_session_id: 'fork' });
    const child = await service.api
      .with({ 'x-session-id': 'fork' })
      .create({ input: 'Two?', previous_response_id: root.id });
    await service.api.post('sessions/fork/fork', { target_session_id: 'last' });
    const grandchild = await service.api
      .with({ 'x-session-id': 'last' })
      .create({ input: 'Three?', previous_response_id: child.id });
    for (const name of ['source', 'fork']) expect((await service.api.delete(`sessions/${name}`)).status).toBe(200);
    await service.api.delete(`responses/${root.id}`);
    await service.api.delete(`responses/${child.id}`);
    await service.api.create({ input: 'Four?', previous_response_id: grandchild.id });
    const context = JSON.stringify(service.provider.turns.at(-1)?.context);
    for (const text of ['One?', 'Two?', 'Three?', 'Four?']) expect(context).toContain(text);
    expect(await service.api.idsOf('sessions/last/responses?order=asc')).toHaveLength(2);
  });

  it('the session of a chain that nobody named is deleted as well', async () => {
    const root = await service.api.create({});
    const child = await service.api.create({ previous_response_id: root.id });
    expect((await service.api.delete(`sessions/${child.id}`)).status).toBe(404);
    expect((await service.api.delete(`sessions/${root.id}`)).body).toMatchObject({ id: root.id, deleted: true });
    expect([await statusOf(root.id), await statusOf(child.id)]).toEqual([404, 404]);
  });

  it('a deleted session is not continued by connections that remember it', async () => {
    await using client = await SocketClient.open(service);
    const { id } = (await client.turn({ input: 'Hi', session_id: 'remembered' })).response;
    expect((await service.api.delete('sessions/remembered')).status).toBe(200);
    expect(await client.refusal({ input: 'On', previous_response_id: id })).toMatchObject(parentNotFound(id));
  });

  it('a deleted session may be begun again', async () => {
    const session = service.api.with({ 'x-session-id': 'again' });
    await session.create({});
    await service.api.delete('sessions/again');
    const { id } = await session.create({});
    expect(await service.api.idsOf('sessions/again/responses')).toEqual([id]);
  });

  it('a session is gone with its last response', async () => {
    const { id } = await service.api.with({ 'x-session-id': 'emptied' }).create({});
    await service.api.delete(`responses/${id}`);
    expect((await service.api.get('sessions/emptied/responses')).status).toBe(404);
    expect((await service.api.delete('sessions/emptied')).status).toBe(404);
    expect((await service.api.post('sessions/emptied/fork', { target_session_id: 'of-nothing' })).status).toBe(404);
  });
});
