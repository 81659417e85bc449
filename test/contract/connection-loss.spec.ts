import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { RawSocketClient } from '../support/connection-raw.js';
import { ConnectionTracker } from '../support/connection-tracker.js';
import { useService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { transcript } from '../support/output.js';

/** Turns that one connection runs at once. */
const MAX_IN_FLIGHT = 16;

/** Ways to go away. */
const WAYS: readonly (readonly [name: string, leave: (client: SocketClient) => void])[] = [
  ['vanishes', ({ socket }) => socket.terminate()],
  ['closes', ({ socket }) => socket.close(1000, 'bye')],
  ['closes without a word', ({ socket }) => socket.close()],
];

describe('a client that goes away', () => {
  let observer: RecordingObserver;
  let tracker: ConnectionTracker;
  let client: SocketClient;

  const service = useService(async () => {
    observer = new RecordingObserver();
    return startService({ providers: [ScriptedProvider], imports: [observer.asModule()] });
  });

  beforeAll(() => {
    tracker = new ConnectionTracker(service);
  });

  beforeEach(async () => {
    observer.records.length = 0;
    service.provider.turns.length = 0;
    client = await SocketClient.open(service);
  });

  afterEach(async () => {
    await client[Symbol.asyncDispose]();
    await tracker.whenSockets(0);
  });

  /** A turn that says a word, and then notes the abort of its signal and nothing else. */
  const listenTo = (): Promise<unknown> => {
    const aborted = Promise.withResolvers<unknown>();
    service.provider.play(async function* (_turn, { signal }) {
      signal.addEventListener('abort', () => aborted.resolve(signal.reason));
      yield { type: 'text', delta: 'before' };
      await new Promise(() => undefined);
    });
    return aborted.promise;
  };

  const expectNotStored = async (): Promise<void> => {
    expect(observer.records.length).toBeGreaterThan(0);
    for (const { responseId } of observer.records) {
      expect((await fetch(`${service.baseURL}/responses/${responseId}`)).status).toBe(404);
    }
  };

  it.each(WAYS)(
    'a client that goes away stops its turn when it %s, and nothing is stored of it',
    async (_name, leave) => {
      const aborted = listenTo();
      client.create({ input: 'Go on.', store: true });
      while ((await client.next()).type !== 'response.output_text.delta');
      leave(client);
      expect(await aborted).toBeInstanceOf(Error);
      expect(await observer.whenSettled(1)).toMatchObject([{ status: 'disconnected', errorCode: null }]);
      await expectNotStored();
    },
  );

  it.each(WAYS)('a client that goes away stops the turns of all its lanes when it %s', async (_name, leave) => {
    const lanes = ['a', 'b', 'c'];
    const aborted = lanes.map(() => listenTo());
    for (const lane of lanes) client.create({ stream_id: lane, input: 'Go on.', store: true });
    for (const lane of lanes) while ((await client.nextOf(lane)).type !== 'response.output_text.delta');
    leave(client);
    await Promise.all(aborted);
    const records = await observer.whenSettled(lanes.length);
    expect(records.map(({ status }) => status)).toEqual(lanes.map(() => 'disconnected'));
    await expectNotStored();
  });

  it.each(WAYS)('a client that goes away leaves what waits unasked when it %s', async (_name, leave) => {
    const held = new HeldTurns(service.provider).hold(MAX_IN_FLIGHT);
    for (let lane = 0; lane < MAX_IN_FLIGHT; lane += 1) {
      client.create({ stream_id: `lane-${lane}`, input: `running ${lane}` });
    }
    for (const lane of ['lane-0', 'lane-0', 'lane-20', 'lane-21']) {
      client.create({ stream_id: lane, input: 'waiting' });
    }
    await held.whenBegun(MAX_IN_FLIGHT);
    await client.roundTrip();
    leave(client);
    const records = await observer.whenSettled(MAX_IN_FLIGHT);
    await tracker.whenSockets(0);
    // A whole turn of somebody else: whatever was to follow has followed.
    await using other = await SocketClient.open(service);
    await other.turn({ input: 'Hi' });
    expect(records.slice(0, -1).map(({ status }) => status)).toEqual(records.slice(0, -1).map(() => 'disconnected'));
    expect(service.provider.turns).toHaveLength(MAX_IN_FLIGHT + 1);
    expect(observer.records).toHaveLength(MAX_IN_FLIGHT + 1);
    expect(held.begun).not.toContain('waiting');
    await other.close();
  });

  it('a client that goes away stops its turns when it stops sending only, as if it were gone', async () => {
    const aborted = listenTo();
    using raw = await RawSocketClient.open(service);
    raw.send('text', { type: 'response.create', model: 'scripted', input: 'Go on.' });
    expect(await raw.nextEvent()).toMatchObject({ type: 'response.created' });
    raw.socket.end();
    await raw.closed;
    await aborted;
    expect(await observer.whenSettled(1)).toMatchObject([{ status: 'disconnected' }]);
  });

  it('a client that goes away takes what only its connection remembered with it', async () => {
    const { response } = await client.turn({ input: 'Secret.', store: false });
    const next = await client.turn({ input: 'And?', store: false, previous_response_id: response.id });
    await client.close();
    await tracker.whenSockets(0);
    await using again = await SocketClient.open(service);
    for (const id of [response.id, next.response.id]) {
      const refused = await again.refusal({ input: 'And?', previous_response_id: id });
      expect(refused).toMatchObject({
        status: 400,
        error: { code: 'previous_response_not_found', param: 'previous_response_id' },
      });
    }
    // It begins anew with what it knows itself.
    expect((await again.turn({ input: 'Secret. And?', store: false })).response.status).toBe('completed');
    expect((await fetch(`${service.baseURL}/responses/${next.response.id}`)).status).toBe(404);
    await again.close();
  });

  it('a client goes on over another connection from what was stored', async () => {
    service.provider.reply({ type: 'text', delta: 'Stored.' });
    const { response } = await client.turn({ input: 'Remember.', store: true });
    client.socket.terminate();
    await tracker.whenSockets(0);
    await using again = await SocketClient.open(service);
    const next = await again.turn({ input: 'What?', previous_response_id: response.id });
    expect(next.response).toMatchObject({ status: 'completed', previous_response_id: response.id });
    const asked = transcript(service.provider.turns.at(-1)?.context ?? []);
    expect(asked).toEqual(['user: Remember.', 'assistant: Stored.', 'user: What?']);
    await again.close();
  });

  it('a client finds the last stored response as it was when its next turn was cut off', async () => {
    const { response } = await client.turn({ input: 'Remember.', store: true });
    const aborted = listenTo();
    client.create({ input: 'Cut off.', store: true, previous_response_id: response.id });
    while ((await client.next()).type !== 'response.output_text.delta');
    client.socket.terminate();
    await aborted;
    await observer.whenSettled(2);
    await using again = await SocketClient.open(service);
    const next = await again.turn({ input: 'Again.', previous_response_id: response.id });
    expect(next.response.status).toBe('completed');
    const asked = transcript(service.provider.turns.at(-1)?.context ?? []);
    expect(asked).toEqual(['user: Remember.', 'assistant: ok', 'user: Again.']);
    await again.close();
  });
});
