import { describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import type { ApiClient } from '../support/api-client.js';
import { useService } from '../support/describe-service.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import { openStream } from '../support/sse.js';

const SECOND = 1000;

describe.each(STATES)('how long a response lives in $state', ({ open }) => {
  const clock = new FakeClock();

  const service = useService(() =>
    startServiceIn(open, {
      providers: [ScriptedProvider],
      overrides: [[Clock, clock]],
      environment: { RESPONSE_TTL: 100, RESPONSE_TTL_MAX: 1000, PURGE_INTERVAL_MS: 2 ** 31 - 1 },
    }),
  );

  const lasting = (seconds: number): ApiClient => service.api.with({ 'x-response-ttl': String(seconds) });
  const statusOf = async (id: string): Promise<number> => (await service.api.get(`responses/${id}`)).status;

  /** Whether a response is there, in every way to ask for it. */
  const expectThere = async (id: string, isThere: boolean): Promise<void> => {
    for (const path of ['', '/input_items', '/children', '/siblings', '/leaves', '/tree']) {
      expect({ path, status: (await service.api.get(`responses/${id}${path}`)).status }).toEqual({
        path,
        status: isThere ? 200 : 404,
      });
    }
    expect((await service.api.idsOf('responses')).includes(id)).toBe(isThere);
  };

  it.each([
    ['as its request says', '7', 7],
    ['as short as possible', '1', 1],
    ['as long as possible', '1000', 1000],
    ['as RESPONSE_TTL says', undefined, 100],
    ['as a number with zeros says', '0007', 7],
  ])('a response lives %s', async (_, ttl, seconds) => {
    const { id } = await (ttl === undefined ? service.api : service.api.with({ 'x-response-ttl': ttl })).create({});
    clock.advance(seconds * SECOND - 1);
    await expectThere(id, true);
    expect(await service.api.idsOf(`sessions/${id}/responses`)).toEqual([id]);
    clock.advance(1);
    await expectThere(id, false);
    expect((await service.api.get(`sessions/${id}/responses`)).status).toBe(404);
    expect((await service.api.delete(`responses/${id}`)).status).toBe(404);
    expect((await service.api.delete(`sessions/${id}`)).status).toBe(404);
    expect((await service.api.post(`sessions/${id}/fork`, { target_session_id: 'late' })).status).toBe(404);
  });

  it('a response lives as long as the header of a stream says', async () => {
    const body = { model: 'scripted', input: 'Hi' };
    const answer = await openStream(`${service.baseURL}/responses`, body, { headers: { 'x-response-ttl': '7' } });
    if (!answer.streams) throw new Error('the turn was refused');
    const { id } = (await Array.fromAsync(answer.events)).at(-1)?.['response'] as { readonly id: string };
    clock.advance(7 * SECOND - 1);
    expect(await statusOf(id)).toBe(200);
    clock.advance(1);
    expect(await statusOf(id)).toBe(404);
  });

  it('a response lives as long as the header of an upgrade says, also for the connection itself', async () => {
    await using client = await SocketClient.open(service, { headers: { 'x-response-ttl': '7' } });
    const { id } = (await client.turn({ stream_id: 'a', input: 'Hi' })).response;
    clock.advance(7 * SECOND - 1);
    expect(await statusOf(id)).toBe(200);
    clock.advance(1);
    expect(await statusOf(id)).toBe(404);
    const refusal = await client.refusal({ stream_id: 'b', input: 'On', previous_response_id: id });
    expect(refusal).toMatchObject(parentNotFound(id));
  });

  it.each([
    ['0', 'integer_below_min_value', '>= 1'],
    ['-5', 'integer_below_min_value', '>= 1'],
    ['1001', 'integer_above_max_value', '<= 1000'],
    ['99999999999999999999', 'integer_above_max_value', '<= 1000'],
    ['', 'invalid_type', 'an integer'],
    ['1.5', 'invalid_type', 'an integer'],
    ['1e2', 'invalid_type', 'an integer'],
    ['0x10', 'invalid_type', 'an integer'],
    ['a day', 'invalid_type', 'an integer'],
    ['7, 8', 'invalid_type', 'an integer'],
    ['+7', 'invalid_type', 'an integer'],
    ['Infinity', 'invalid_type', 'an integer'],
  ])('the time to live cannot be %j', async (ttl, code, expected) => {
    const refusal = {
      status: 400,
      body: { error: { code, param: 'x-response-ttl', message: expect.stringContaining(expected) as unknown } },
    };
    const before = service.provider.turns.length;
    for (const stream of [false, true]) {
      const body = { model: 'scripted', input: 'Hi', stream };
      expect(await service.api.with({ 'x-response-ttl': ttl }).post('responses', body)).toMatchObject(refusal);
    }
    await using client = await SocketClient.open(service, { headers: { 'x-response-ttl': ttl } });
    expect(await client.refusal({ input: 'Hi' })).toMatchObject({
      type: 'error',
      status: 400,
      error: refusal.body.error,
    });
    expect(service.provider.turns).toHaveLength(before);
  });

  it('the end of a response does not end what a living descendant needs', async () => {
    const root = await lasting(10).create({ input: 'One?' });
    const child = await lasting(20).create({ input: 'Two?', previous_response_id: root.id });
    const leaf = await lasting(1000).create({ input: 'Three?', previous_response_id: child.id });
    for (const [seconds, gone] of [
      [10, root],
      [10, child],
    ] as const) {
      clock.advance(seconds * SECOND);
      await expectThere(gone.id, false);
      for (const transport of [false, true]) {
        const refused = await service.api.post('responses', {
          model: 'scripted',
          input: 'No',
          previous_response_id: gone.id,
          stream: transport,
        });
        expect(refused).toMatchObject({ status: 400, body: { error: { code: 'previous_response_not_found' } } });
      }
    }
    const last = await lasting(1000).create({ input: 'Four?', previous_response_id: leaf.id });
    const answered = ['One?', 'Two?', 'Three?'].flatMap((text) => [`user: ${text}`, 'assistant: ok']);
    expect(transcript(service.provider.turns.at(-1)?.context ?? [])).toEqual([...answered, 'user: Four?']);
    expect(await service.api.get(`responses/${leaf.id}`)).toMatchObject({ body: { previous_response_id: child.id } });
    // The graph begins at what can be seen.
    const { body } = await service.api.get(`responses/${last.id}/tree`);
    expect(body).toMatchObject({ root: { id: leaf.id, children: { data: [{ id: last.id }] } } });
    expect(await service.api.idsOf(`sessions/${root.id}/responses?order=asc`)).toEqual([leaf.id, last.id]);
  });

  it('a child keeps its parent only as long as it says itself', async () => {
    const parent = await lasting(1000).create({});
    const child = await lasting(1).create({ previous_response_id: parent.id });
    clock.advance(SECOND);
    expect([await statusOf(parent.id), await statusOf(child.id)]).toEqual([200, 404]);
    expect(await service.api.idsOf(`responses/${parent.id}/children`)).toEqual([]);
    expect(await service.api.idsOf(`responses/${parent.id}/leaves`)).toEqual([parent.id]);
  });

  it('a response that expires lets items go with it', async () => {
    const { output } = await lasting(5).create({});
    const [{ id }] = output as [{ readonly id: string }];
    const input = [{ type: 'item_reference', id }];
    await service.api.create({ input });
    clock.advance(5 * SECOND);
    // The turn that referred to it has it as its own.
    await service.api.create({ input });
    clock.advance(100 * SECOND);
    await expect(service.api.create({ input })).rejects.toMatchObject({ status: 404 });
  });
});
