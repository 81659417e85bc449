import { describe, expect, it, jest } from '@jest/globals';

import { ResponseStore } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { REFUSED_TURNS } from '../support/transports.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

/** The ids of a tree of five: a root with two children, of which the first has two. */
interface Family {
  readonly root: string;
  readonly left: string;
  readonly right: string;
  readonly leftOne: string;
  readonly leftTwo: string;
}

describe.each(STATES)('a response that is deleted in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));

  const create = async (input: string, parent: string | null = null): Promise<string> =>
    (await service.api.create({ input, previous_response_id: parent })).id;

  const createFamily = async (): Promise<Family> => {
    const root = await create('Root?');
    const left = await create('Left?', root);
    const right = await create('Right?', root);
    return { root, left, right, leftOne: await create('One?', left), leftTwo: await create('Two?', left) };
  };

  const living = async (family: Family): Promise<readonly string[]> => {
    const statuses = await Promise.all(Object.values(family).map((id: string) => service.api.get(`responses/${id}`)));
    return Object.keys(family).filter((_, index) => statuses[index]?.status === 200);
  };

  it.each([
    ['', ['left', 'right', 'leftOne', 'leftTwo']],
    ['?cascade=false', ['left', 'right', 'leftOne', 'leftTwo']],
    ['?cascade=true', []],
  ])('a deleted response takes with it what it says: DELETE %s on the root', async (query, left) => {
    const family = await createFamily();
    const { status, body } = await service.api.delete(`responses/${family.root}${query}`);
    expect({ status, body }).toEqual({ status: 200, body: { id: family.root, object: 'response', deleted: true } });
    expect(await living(family)).toEqual(left);
    expect((await service.api.delete(`responses/${family.root}${query}`)).status).toBe(404);
  });

  it.each([
    ['', ['root', 'right', 'leftOne', 'leftTwo']],
    ['?cascade=true', ['root', 'right']],
  ])('a deleted response leaves alone what is beside it: DELETE %s on a branch', async (query, left) => {
    const family = await createFamily();
    await service.api.delete(`responses/${family.left}${query}`);
    expect(await living(family)).toEqual(left);
    expect(await service.api.idsOf(`sessions/${family.root}/responses`)).toHaveLength(left.length);
  });

  it('a deleted response takes with it what continues it through one that was deleted before', async () => {
    const family = await createFamily();
    await service.api.delete(`responses/${family.left}`);
    await service.api.delete(`responses/${family.root}?cascade=true`);
    expect(await living(family)).toEqual([]);
  });

  it.each(['', '1', 'yes', 'TRUE', 'true&cascade=true'])('a response is not deleted with cascade=%s', async (value) => {
    const id = await create('Hi');
    const refused = await service.api.delete(`responses/${id}?cascade=${value}`);
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_type', param: 'cascade' } } });
    expect((await service.api.get(`responses/${id}`)).status).toBe(200);
  });

  it.each(REFUSED_TURNS)('a deleted response is not continued any more: %s', async (_, refuse) => {
    const { root, left } = await createFamily();
    await service.api.delete(`responses/${left}`);
    const body = { model: 'scripted', input: 'On', previous_response_id: left };
    expect(await refuse(service, body)).toMatchObject({
      status: 400,
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    });
    await service.api.delete(`responses/${root}?cascade=true`);
    expect(await refuse(service, { ...body, previous_response_id: root })).toMatchObject({ status: 400 });
  });

  it('a deleted response stays context of what continues it, for ever', async () => {
    const { root, left, leftOne } = await createFamily();
    await service.api.delete(`responses/${root}`);
    await service.api.delete(`responses/${left}`);
    const next = await create('Next?', leftOne);
    await service.api.delete(`responses/${leftOne}`);
    await create('Last?', next);
    const asked = ['Root?', 'Left?', 'One?', 'Next?'].flatMap((text) => [`user: ${text}`, 'assistant: ok']);
    expect(transcript(service.provider.turns.at(-1)?.context ?? [])).toEqual([...asked, 'user: Last?']);
  });

  it('a deleted response stays context of a turn that runs while it goes', async () => {
    const root = await create('Root?');
    const begun = Promise.withResolvers<undefined>();
    const gate = Promise.withResolvers<undefined>();
    service.provider.play(async function* () {
      begun.resolve(undefined);
      await gate.promise;
      yield { type: 'text', delta: 'ok' };
      yield { type: 'finish', reason: 'stop' };
    });
    const running = create('Running?', root);
    await begun.promise;
    expect((await service.api.delete(`responses/${root}?cascade=true`)).status).toBe(200);
    gate.resolve(undefined);
    await create('After?', await running);
    const context = transcript(service.provider.turns.at(-1)?.context ?? []);
    expect(context).toEqual(['user: Root?', 'assistant: ok', 'user: Running?', 'assistant: ok', 'user: After?']);
  });

  it('a deleted response cuts the graph', async () => {
    const { root, left, right, leftOne } = await createFamily();
    await service.api.delete(`responses/${left}`);
    expect(await service.api.idsOf(`responses/${root}/children`)).toEqual([right]);
    expect(await service.api.idsOf(`responses/${root}/leaves`)).toEqual([right]);
    expect(await service.api.idsOf(`responses/${right}/siblings`)).toEqual([]);
    expect((await service.api.get(`responses/${leftOne}/tree`)).body).toMatchObject({ root: { id: leftOne } });
    for (const route of ['', '/input_items', '/children', '/siblings', '/leaves', '/tree']) {
      expect((await service.api.get(`responses/${left}${route}`)).status).toBe(404);
    }
    expect(await service.api.idsOf('responses?limit=100')).not.toContain(left);
    // It has left its place to the pages that follow.
    expect(await service.api.idsOf(`responses/${root}/children?order=asc&after=${left}`)).toEqual([right]);
    expect(await service.api.idsOf(`responses/${root}/children?order=asc&before=${left}`)).toEqual([]);
  });

  it.each(['', '?cascade=true'])('a deleted response is forgotten by every connection: DELETE %s', async (query) => {
    await using one = await SocketClient.open(service);
    await using two = await SocketClient.open(service);
    const root = (await one.turn({ stream_id: 'a', input: 'Root?' })).response.id;
    const child = (await two.turn({ stream_id: 'b', input: 'Child?', previous_response_id: root })).response.id;
    await service.api.delete(`responses/${root}${query}`);
    expect(await one.refusal({ stream_id: 'a', input: 'On', previous_response_id: root })).toMatchObject(
      parentNotFound(root),
    );
    const body = { stream_id: 'b', input: 'On', previous_response_id: child };
    if (query === '') expect((await two.turn(body)).response.status).toBe('completed');
    else expect(await two.refusal(body)).toMatchObject(parentNotFound(child));
  });

  it('a response is not remembered when it is deleted as soon as it is saved', async () => {
    await using client = await SocketClient.open(service);
    const store = service.app.get(ResponseStore);
    const save = store.save.bind(store);
    // Its id is known from `response.created` on, so that another client may be faster than its own connection.
    const spy = jest.spyOn(store, 'save').mockImplementation(async (tenant, record) => {
      await save(tenant, record);
      await store.delete(tenant, record.response.id, { cascade: false });
    });
    const { id } = (await client.turn({ input: 'Hi' })).response;
    spy.mockRestore();
    expect(await client.refusal({ input: 'On', previous_response_id: id })).toMatchObject(parentNotFound(id));
  });

  it('a response is deleted by the SDK', async () => {
    const client = service.client();
    const { id } = await client.responses.create({ model: 'scripted', input: 'Hi' });
    await client.responses.delete(id);
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });

  it('a response is deleted once when it is asked for ten times at once', async () => {
    const id = await create('Hi');
    const answers = await Promise.all(Array.from({ length: 10 }, () => service.api.delete(`responses/${id}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(9).fill(404)]);
  });
});
