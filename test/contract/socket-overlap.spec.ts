import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { useScriptedService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { isEnd, SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { transcript } from '../support/output.js';

describe.each(['reject', 'queue'] as const)('a second request on the default lane (WS_OVERLAP=%s)', (overlap) => {
  let client: SocketClient;

  // Before it closes.
  afterEach(async () => {
    await client[Symbol.asyncDispose]();
  });
  const service = useScriptedService(async () => {
    // `reject` is what is there without it.
    const environment = overlap === 'reject' ? {} : { WS_OVERLAP: overlap };
    return startService({ providers: [ScriptedProvider], environment });
  });

  beforeEach(async () => {
    client = await SocketClient.open(service);
  });

  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);

  /** Answers each terminal frame at once, from within the socket's own handler. */
  const chain = (stream_id: string | undefined, turns: number): Promise<readonly WireEvent[]> =>
    new Promise((resolve) => {
      const ends: WireEvent[] = [];
      const lane = stream_id === undefined ? {} : { stream_id };
      client.socket.on('message', (data: Buffer) => {
        const frame = JSON.parse(data.toString()) as WireEvent;
        if (!isEnd(frame)) return;
        ends.push(frame);
        if (ends.length === turns) resolve(ends);
        else client.create({ ...lane, input: 'Next', store: false, previous_response_id: idOf(frame) });
      });
      client.create({ ...lane, input: 'First', store: false });
    });

  it.each([undefined, 'named'])(
    'a request that answers a terminal frame at once is never early (lane %s)',
    async (lane) => {
      const ends = await chain(lane, 50);
      expect(ends.map(({ type }) => type)).toEqual(Array(50).fill('response.completed'));
      expect(seen()).toHaveLength(99);
    },
  );

  it('the overlap of requests is no concern of named lanes, which queue', async () => {
    const held = new HeldTurns(service.provider).hold(2);
    client.create({ input: 'default' });
    client.create({ stream_id: 'a', input: 'named' });
    for (let turn = 0; turn < 3; turn += 1) client.create({ stream_id: 'a', input: 'Hi' });
    await held.whenBegun(2);
    await client.roundTrip();
    expect(client.unread.map(({ type }) => type)).not.toContain('error');
    held.letAllGo();
    await client.finish();
    for (let turn = 0; turn < 4; turn += 1) {
      await expect(client.finish('a')).resolves.toMatchObject({ response: { status: 'completed' } });
    }
  });

  if (overlap === 'reject') {
    it('a second request on the default lane is refused at once with 409', async () => {
      const held = new HeldTurns(service.provider).hold();
      client.create({ input: 'one' });
      await held.whenBegun(1);
      client.create({ input: 'two' });
      const frame = await client.nextEnd();
      expect(frame).toMatchObject({
        type: 'error',
        status: 409,
        error: { type: 'invalid_request_error', code: 'concurrent_request', param: null },
      });
      expect(frame).not.toHaveProperty('stream_id');
      expect(held.running).toBe(1);
      expect(service.provider.turns).toHaveLength(1);
      held.letGo('one');
      expect(await client.nextEnd()).toMatchObject({ type: 'response.completed' });
    });

    it('a second request on the default lane harms neither the turn that runs nor what it continues', async () => {
      service.provider.reply({ type: 'text', delta: 'Two.' });
      const { response: parent } = await client.turn({ stream_id: 'side', input: 'One?', store: false });
      const held = new HeldTurns(service.provider).hold();
      const more = { store: false, previous_response_id: parent.id };
      client.create({ input: 'three', ...more });
      await held.whenBegun(1);
      for (const body of [{ input: 'four', ...more }, { input: 7, ...more }, {}]) {
        client.create(body);
        expect(await client.nextEnd()).toMatchObject({ error: { code: 'concurrent_request' } });
      }
      held.letGo('three');
      const end = await client.nextEnd();
      expect(end).toMatchObject({ response: { output: [{ content: [{ text: 're three' }] }] } });
      const past = ['user: One?', 'assistant: Two.'];
      await client.turn({ input: 'five', store: false, previous_response_id: idOf(end) });
      expect(seen()).toEqual([...past, 'user: three', 'assistant: re three', 'user: five']);
      await client.turn({ input: 'six', ...more });
      expect(seen()).toEqual([...past, 'user: six']);
    });

    it('a second request on the default lane leaves the parent of the running turn to forks even if it names it and is refused', async () => {
      const { response: parent } = await client.turn({ input: 'One?', store: false });
      const held = new HeldTurns(service.provider).hold();
      client.create({ input: 'two', store: false, previous_response_id: parent.id });
      await held.whenBegun(1);
      client.create({ input: 7, store: false, previous_response_id: parent.id });
      expect(await client.nextEnd()).toMatchObject({ error: { code: 'concurrent_request' } });
      await client.turn({ stream_id: 'fork', input: 'three', store: false, previous_response_id: parent.id });
      expect(seen()).toEqual(['user: One?', 'assistant: ok', 'user: three']);
      held.letGo('two');
    });
  } else {
    it('a second request on the default lane waits for its turn, and both complete', async () => {
      const held = new HeldTurns(service.provider).hold(3);
      for (const input of ['one', 'two', 'three']) client.create({ input });
      await held.whenBegun(1);
      await client.roundTrip();
      expect(held.begun).toEqual(['one']);
      for (const text of ['one', 'two', 'three']) {
        held.letGo(text);
        const { response } = await client.finish();
        expect(response).toMatchObject({ status: 'completed', output: [{ content: [{ text: `re ${text}` }] }] });
      }
      expect(held.peak).toBe(1);
    });
  }
});

function idOf({ response }: WireEvent): string {
  return (response as { readonly id: string }).id;
}
