import { beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { SESSION_TURNS } from '../support/transports.js';
import { transcript } from '../support/output.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

describe.each(STATES)('a fork of a session in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  let count = 0;
  /** A source of three responses, oldest first, and the name of a session that is not there yet. */
  let source: string;
  let target: string;
  let ids: readonly [string, string, string];

  beforeEach(async () => {
    count += 1;
    source = `source-${count}`;
    target = `target-${count}`;
    const { id: first } = await service.api.with({ 'x-session-id': source }).create({ input: 'One?' });
    const { id: second } = await service.api.create({ input: 'Two?', previous_response_id: first });
    const { id: third } = await service.api.create({ input: 'Three?', previous_response_id: second });
    ids = [first, second, third];
  });

  const fork = (body: unknown, of = source) => service.api.post(`sessions/${of}/fork`, body);
  const membersOf = (name: string): Promise<readonly string[]> =>
    service.api.idsOf(`sessions/${name}/responses?order=asc`);
  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);

  it('a fork shares all responses of its session', async () => {
    const asked = service.provider.turns.length;
    expect(await fork({ target_session_id: target })).toMatchObject({
      status: 200,
      body: { id: target, object: 'session', forked_from: source, responses: 3 },
    });
    expect(await membersOf(target)).toEqual(ids);
    expect(await membersOf(source)).toEqual(ids);
    const lists = await Promise.all([source, target].map((name) => service.api.get(`sessions/${name}/responses`)));
    expect(lists[0]?.body).toEqual(lists[1]?.body);
    expect(service.provider.turns).toHaveLength(asked);
  });

  it('a fork answers with nothing but what it made', async () => {
    const { body } = await fork({ target_session_id: target });
    expect(Object.keys(body).sort()).toEqual(['forked_from', 'id', 'object', 'responses']);
  });

  it('a fork shares the responses up to one', async () => {
    const [first, second] = ids;
    const forked = await fork({ target_session_id: target, up_to_response_id: second });
    expect(forked).toMatchObject({ status: 200, body: { responses: 2 } });
    expect(await membersOf(target)).toEqual([first, second]);
    expect((await service.api.with({ 'x-session-id': target }).get(`responses/${ids[2]}`)).status).toBe(404);
  });

  it('a fork shares the session of a chain that nobody named', async () => {
    const root = await service.api.create({});
    const child = await service.api.create({ previous_response_id: root.id });
    expect(await fork({ target_session_id: target, up_to_response_id: null }, root.id)).toMatchObject({
      status: 200,
      body: { forked_from: root.id, responses: 2 },
    });
    expect(await membersOf(target)).toEqual([root.id, child.id]);
  });

  it.each(SESSION_TURNS)('a fork goes its own way: %s', async (_, turn) => {
    await fork({ target_session_id: target });
    const there = await turn(service, target, { input: 'There?', previous_response_id: ids[2] });
    const answered = ['One?', 'Two?', 'Three?'].flatMap((text) => [`user: ${text}`, 'assistant: ok']);
    expect(seen()).toEqual([...answered, 'user: There?']);
    expect(await membersOf(target)).toEqual([...ids, there.id]);
    expect(await membersOf(source)).toEqual(ids);
    const here = await turn(service, source, { input: 'Here?', previous_response_id: ids[2] });
    expect(seen()).toEqual([...answered, 'user: Here?']);
    expect(await membersOf(source)).toEqual([...ids, here.id]);
    await expect(turn(service, source, { previous_response_id: there.id })).rejects.toMatchObject({
      body: { error: { code: 'previous_response_not_found' } },
    });
    // What names no session stays where its parent was made.
    const last = await service.api.create({ previous_response_id: there.id });
    expect(await membersOf(target)).toEqual([...ids, there.id, last.id]);
  });

  it('a fork of a session can be forked again', async () => {
    await fork({ target_session_id: target, up_to_response_id: ids[1] });
    const own = await service.api.with({ 'x-session-id': target }).create({ previous_response_id: ids[0] });
    expect((await fork({ target_session_id: `${target}-2` }, target)).body).toMatchObject({ responses: 3 });
    expect(await membersOf(`${target}-2`)).toEqual([ids[0], ids[1], own.id]);
  });

  it('a fork of a session is refused into itself and into a session that has responses', async () => {
    await service.api.with({ 'x-session-id': target }).create({});
    for (const target_session_id of [source, target]) {
      const { status, body } = await fork({ target_session_id });
      expect(status).toBe(409);
      expect(body).toEqual({
        error: {
          type: 'invalid_request_error',
          code: 'session_exists',
          param: 'target_session_id',
          message: `Session '${target_session_id}' already has responses. Fork into a new one.`,
        },
      });
    }
    expect(await membersOf(source)).toEqual(ids);
    expect(await membersOf(target)).toHaveLength(1);
  });

  it('a fork of a session can be made anew where a session was deleted', async () => {
    await fork({ target_session_id: target });
    expect((await service.api.delete(`sessions/${target}`)).status).toBe(200);
    expect((await fork({ target_session_id: target, up_to_response_id: ids[0] })).body).toMatchObject({ responses: 1 });
    expect(await membersOf(target)).toEqual([ids[0]]);
  });

  it('a fork of a session is made once when it is asked for ten times at once', async () => {
    const forks = await Promise.all(Array.from({ length: 10 }, () => fork({ target_session_id: target })));
    expect(forks.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(9).fill(409)]);
    expect(await membersOf(target)).toEqual(ids);
  });

  it('a fork of an unknown session is refused', async () => {
    const { status, body } = await fork({ target_session_id: target, up_to_response_id: ids[0] }, 'nobody');
    expect(status).toBe(404);
    expect(body).toMatchObject({ error: { code: null, param: null, message: "Session with id 'nobody' not found." } });
    expect((await service.api.get(`sessions/${target}/responses`)).status).toBe(404);
  });

  it('a fork up to a response that is not in the session is refused', async () => {
    const elsewhere = (await service.api.create({})).id;
    const deleted = (await service.api.with({ 'x-session-id': source }).create({})).id;
    await service.api.delete(`responses/${deleted}`);
    for (const id of [elsewhere, deleted, 'resp_unknown', 'a\0b', '\ud800', 'x'.repeat(10_000)]) {
      const { status, body } = await fork({ target_session_id: target, up_to_response_id: id });
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: { code: 'invalid_value', param: 'up_to_response_id' } });
    }
    expect((await service.api.get(`sessions/${target}/responses`)).status).toBe(404);
  });

  it.each([
    [{}, 'target_session_id', 'missing_required_parameter'],
    [{ target_session_id: null }, 'target_session_id', 'invalid_type'],
    [{ target_session_id: '' }, 'target_session_id', 'invalid_value'],
    [{ target_session_id: 'two words' }, 'target_session_id', 'invalid_value'],
    [{ target_session_id: 'a\0b' }, 'target_session_id', 'invalid_value'],
    [{ target_session_id: 'x'.repeat(257) }, 'target_session_id', 'string_above_max_length'],
    [{ target_session_id: 7 }, 'target_session_id', 'invalid_type'],
    [{ target_session_id: 'a', up_to_response_id: '' }, 'up_to_response_id', 'string_below_min_length'],
    [{ target_session_id: 'a', up_to_response_id: 7 }, 'up_to_response_id', 'invalid_type'],
    [[], null, 'invalid_type'],
    [null, null, 'invalid_type'],
    ['target', null, 'invalid_type'],
  ])('a fork of a session is refused with the body %j', async (body, param, code) => {
    expect(await fork(body)).toMatchObject({ status: 400, body: { error: { code, param } } });
  });
});
