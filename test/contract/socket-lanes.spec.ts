import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';
import { isEnd, SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';

describeService('lanes of a socket', { providers: [ScriptedProvider] }, (service) => {
  let client: SocketClient;

  beforeEach(async () => {
    client = await SocketClient.open(service);
  });

  afterEach(() => client[Symbol.asyncDispose]());

  /** Frames of anybody until so many turns have ended. */
  const framesUntil = async (ends: number): Promise<readonly WireEvent[]> => {
    const frames: WireEvent[] = [];
    for (let left = ends; left > 0;) {
      const frame = await client.next();
      frames.push(frame);
      if (isEnd(frame)) left -= 1;
    }
    return frames;
  };

  const textOf = ({ response }: WireEvent): unknown =>
    (response as { readonly output: readonly { readonly content: readonly { readonly text: string }[] }[] }).output[0]
      ?.content[0]?.text;

  it('a socket runs the turns of a lane one after the other, in the order they came', async () => {
    const held = new HeldTurns(service.provider).hold(3);
    for (const input of ['one', 'two', 'three']) client.create({ stream_id: 'a', input });
    for (const [index, text] of ['one', 'two', 'three'].entries()) {
      await client.roundTrip();
      expect(await held.whenBegun(index + 1)).toHaveLength(index + 1);
      held.letGo(text);
    }
    const frames = await framesUntil(3);
    const ids = frames.flatMap(({ response }) => (response === undefined ? [] : [(response as { id: string }).id]));
    // Created, in progress and completed of one response, before anything of the next.
    expect(ids.map((id) => ids.indexOf(id))).toEqual([0, 0, 0, 3, 3, 3, 6, 6, 6]);
    expect(frames.filter(({ type }) => type === 'response.completed').map(textOf)).toEqual([
      're one',
      're two',
      're three',
    ]);
    expect(held.peak).toBe(1);
  });

  it('a socket runs lanes side by side, and their events interleave', async () => {
    const held = new HeldTurns(service.provider).hold(3);
    client.create({ stream_id: 'a', input: 'one' });
    client.create({ stream_id: 'b', input: 'two' });
    client.create({ input: 'three' });
    await held.whenBegun(3);
    expect(held.running).toBe(3);
    // The last to come is the first to end.
    for (const [text, lane] of [
      ['three', undefined],
      ['two', 'b'],
      ['one', 'a'],
    ] as const) {
      held.letGo(text);
      const { response } = await client.finish(lane);
      expect(response).toMatchObject({ status: 'completed', output: [{ content: [{ text: `re ${text}` }] }] });
    }
  });

  it('a socket lets a lane go on while another one waits for its model', async () => {
    const held = new HeldTurns(service.provider).hold();
    client.create({ stream_id: 'slow', input: 'wait' });
    await held.whenBegun(1);
    for (let turn = 0; turn < 3; turn += 1) {
      await expect(client.turn({ stream_id: 'fast', input: 'Hi' })).resolves.toMatchObject({
        response: { status: 'completed' },
      });
    }
    held.letGo('wait');
    await client.finish('slow');
  });

  it('a socket names the lane on every event of a named lane, and on none of the default lane', async () => {
    const models = {
      completed: () => service.provider.reply({ type: 'metadata', headers: { 'x-codex-turn-state': 'abc' } }),
      incomplete: () => service.provider.reply({ type: 'text', delta: 'I' }, { type: 'finish', reason: 'length' }),
      failed: () =>
        service.provider.play(async function* () {
          yield { type: 'text', delta: 'I' };
          throw new Error('broken');
        }),
    };
    for (const stream_id of ['lane-1', undefined]) {
      for (const [status, answer] of Object.entries(models)) {
        answer();
        client.create({ ...(stream_id === undefined ? {} : { stream_id }), input: 'Hi' });
        const frames = await framesUntil(1);
        expect(frames.at(-1)).toMatchObject({ type: `response.${status}` });
        expect(new Set(frames.map((frame) => frame['stream_id']))).toEqual(new Set([stream_id]));
        expect(frames.every((frame) => Object.hasOwn(frame, 'stream_id'))).toBe(stream_id !== undefined);
      }
      client.create({ ...(stream_id === undefined ? {} : { stream_id }), input: 7 });
      const [error] = await framesUntil(1);
      expect(error).toMatchObject({ type: 'error', status: 400 });
      expect(error?.['stream_id']).toBe(stream_id);
    }
  });

  it('a socket gives an error in its place of the lane, not before the running turn has ended', async () => {
    const held = new HeldTurns(service.provider).hold(2);
    client.create({ stream_id: 'a', input: 'one' });
    client.create({ stream_id: 'a', input: 7 });
    client.create({ stream_id: 'a', input: 'Hi', previous_response_id: 'resp_gone' });
    client.create({ stream_id: 'a', input: 'two' });
    await held.whenBegun(1);
    await client.roundTrip();
    expect(client.unread.map(({ type }) => type)).not.toContain('error');
    held.letGo('one');
    held.letGo('two');
    const ends = (await framesUntil(4)).filter(isEnd);
    expect(ends).toMatchObject([
      { type: 'response.completed' },
      { type: 'error', stream_id: 'a', error: { code: 'invalid_type', param: 'input' } },
      { type: 'error', stream_id: 'a', error: { code: 'previous_response_not_found' } },
      { type: 'response.completed' },
    ]);
  });

  it('a socket goes on with what waits after a turn that was refused or failed', async () => {
    const held = new HeldTurns(service.provider).hold();
    client.create({ stream_id: 'a', input: 'breaks' });
    client.create({ stream_id: 'a', input: 'Hi' });
    await held.whenBegun(1);
    await client.roundTrip();
    held.fail('breaks', new Error('broken'));
    await expect(client.finish('a')).resolves.toMatchObject({ response: { status: 'failed' } });
    await expect(client.finish('a')).resolves.toMatchObject({ response: { status: 'completed' } });
  });

  it('a socket starts a fresh conversation where a lane is used again without a parent', async () => {
    await client.turn({ stream_id: 'a', input: 'Hi' });
    const { response } = await client.turn({ stream_id: 'a', input: 'Again' });
    expect(response).toMatchObject({ previous_response_id: null });
    expect(service.provider.turns.at(-1)?.context).toHaveLength(1);
  });

  it('a socket counts the default lane among the 16 that run at once', async () => {
    const held = new HeldTurns(service.provider).hold(17);
    client.create({ input: 'default' });
    for (let lane = 0; lane < 16; lane += 1) client.create({ stream_id: `lane-${lane}`, input: `turn ${lane}` });
    await held.whenBegun(16);
    await client.roundTrip();
    expect(held.begun).not.toContain('turn 15');
    held.letGo('default');
    expect((await held.whenBegun(17)).at(-1)).toBe('turn 15');
    held.letAllGo();
    await framesUntil(17);
    expect(held.peak).toBe(16);
  });

  it('a socket lets turns of lanes go first that waited longest when a 17th place is free', async () => {
    const held = new HeldTurns(service.provider).hold(19);
    const names = Array.from({ length: 18 }, (_, index) => `lane-${index}`);
    for (const stream_id of names) client.create({ stream_id, input: stream_id });
    // Another one on a lane that runs: it has to queue behind those that have waited longer.
    client.create({ stream_id: 'lane-0', input: 'second' });
    await client.roundTrip();
    await held.whenBegun(16);
    held.letGo('lane-0');
    await held.whenBegun(17);
    held.letGo('lane-1');
    await held.whenBegun(18);
    held.letGo('lane-2');
    expect((await held.whenBegun(19)).slice(16)).toEqual(['lane-16', 'lane-17', 'second']);
    held.letAllGo();
    await framesUntil(19);
    expect(held.peak).toBe(16);
  });
});
