import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';

import type { Connection } from '../../src/connections/index.js';
import { Clock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { frameOf, RawSocketClient } from '../support/connection-raw.js';
import { ConnectionTracker } from '../support/connection-tracker.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { WatchedClock } from '../support/clocks.js';

const MEGABYTE = 1024 * 1024;
/** Small, so that what is sent in one tick can already be too much. */
const WS_MAX_BUFFERED_BYTES = 32 * 1024;
const NO_JSON = frameOf('text', 'no JSON');

const clock = new WatchedClock();
// Before it closes.
afterAll(() => clock.letGo());
const service = useService({
  providers: [ScriptedProvider],
  // No heartbeat wakes what should be woken by what is written.
  overrides: [[Clock, clock]],
  environment: { WS_MAX_BUFFERED_BYTES },
});
let tracker: ConnectionTracker;
let client: RawSocketClient;
let connection: Connection;

beforeAll(() => {
  tracker = new ConnectionTracker(service);
});

beforeEach(async () => {
  client = await RawSocketClient.open(service);
  connection = tracker.only;
});

afterEach(async () => {
  client.socket.destroy();
  await tracker.whenSockets(0);
});

/** What the service gives to the TCP socket from now on, in pieces as it is given. */
function recordWrites(): readonly string[] {
  const writes: string[] = [];
  const side = tracker.latest;
  const [write, writev] = [side._write.bind(side), side._writev?.bind(side)];
  jest.spyOn(side, '_write').mockImplementation((chunk: unknown, ...rest) => {
    writes.push(String(chunk));
    write(chunk, ...rest);
  });
  jest.spyOn(side, '_writev').mockImplementation((chunks, callback) => {
    writes.push(chunks.map(({ chunk }) => String(chunk)).join(''));
    writev?.(chunks, callback);
  });
  return writes;
}

async function nextFrames(client: RawSocketClient, count: number): Promise<readonly string[]> {
  const frames: string[] = [];
  while (frames.length < count) {
    const { kind, payload } = await client.nextFrame();
    frames.push(kind === 'text' ? payload.toString() : kind);
  }
  return frames;
}

describe('messages of one tick', () => {
  it('messages of one tick leave in one write, each in a frame of its own', async () => {
    const writes = recordWrites();
    const messages = Array.from({ length: 8 }, (_, index) => `{"type":"${index}","delta":"${'x'.repeat(40 * index)}"}`);
    for (const message of messages) connection.writer.send(message);
    expect(writes).toEqual([]);
    expect(await nextFrames(client, 8)).toEqual(messages);
    expect(writes).toHaveLength(1);
  });

  it('the events of a burst of a model are messages of one tick', async () => {
    const writes = recordWrites();
    const burst = Array.from({ length: 8 }, (_, index) => ({ type: 'text' as const, delta: `piece ${index} ` }));
    service.app.get(ScriptedProvider).play(async function* () {
      yield await Promise.resolve(burst);
      yield [{ type: 'finish', reason: 'stop' }];
    });
    client.send('text', { type: 'response.create', model: 'scripted', input: 'Hi' });
    const types: string[] = [];
    while (types.at(-1) !== 'response.completed') types.push((await client.nextEvent()).type);
    expect(types.filter((type) => type === 'response.output_text.delta')).toHaveLength(8);
    expect(writes.filter((text) => text.includes('"response.output_text.delta"'))).toHaveLength(1);
  });

  it.each<readonly [length: number, head: readonly number[]]>([
    [0, [0x81, 0]],
    [1, [0x81, 1]],
    [125, [0x81, 125]],
    [126, [0x81, 126, 0, 126]],
    [255, [0x81, 126, 0, 255]],
    [256, [0x81, 126, 1, 0]],
    [65_535, [0x81, 126, 0xff, 0xff]],
    [65_536, [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]],
    [0x123456, [0x81, 127, 0, 0, 0, 0, 0, 0x12, 0x34, 0x56]],
    [8 * MEGABYTE, [0x81, 127, 0, 0, 0, 0, 0, 0x80, 0, 0]],
  ])('frames say how long they are: %s', async (length, head) => {
    const pieces: Buffer[] = [];
    client.socket.on('data', (piece: Buffer) => pieces.push(piece));
    const message = '~'.repeat(length);
    connection.writer.send(message);
    connection.writer.send('after it');
    expect((await client.nextFrame()).payload.toString() === message).toBe(true);
    expect(await nextFrames(client, 1)).toEqual(['after it']);
    expect([...Buffer.concat(pieces).subarray(0, head.length)]).toEqual(head);
  });

  it('messages of one tick keep their order, whatever characters they have', async () => {
    const writes = recordWrites();
    const texts = ['a', 'é', 'b', 'c', '字', '🦊', '\x7f', '\x80', '\xff', 'd', '\ud800', 'e'];
    const sent = texts.map((text) => JSON.stringify({ type: text }));
    for (const message of sent) connection.writer.send(message);
    expect(await nextFrames(client, texts.length)).toEqual(sent);
    expect(writes).toHaveLength(1);
  });

  it('messages of one tick keep their order when one is so long that it leaves in fragments', async () => {
    const long = 'x'.repeat(9 * MEGABYTE);
    for (const message of ['a', long, 'b']) connection.writer.send(message);
    expect((await client.nextFrame()).payload.toString()).toBe('a');
    const fragments = [await client.nextFrame(), await client.nextFrame()];
    expect(fragments.map(({ kind }) => kind)).toEqual(['text', 'continuation']);
    expect(Buffer.concat(fragments.map(({ payload }) => payload)).toString() === long).toBe(true);
    expect(await nextFrames(client, 1)).toEqual(['b']);
  });

  it('messages of one tick count as unread before they leave', async () => {
    const { writer } = connection;
    writer.send('x'.repeat(WS_MAX_BUFFERED_BYTES / 4));
    expect(writer.isBehind).toBe(false);
    writer.send('x'.repeat(WS_MAX_BUFFERED_BYTES / 4));
    expect(writer.isBehind).toBe(true);
    expect(writer.taken).toEqual(expect.any(Number));
    // It is woken by what is written.
    await writer.caughtUp();
    expect(writer.isBehind).toBe(false);
  });

  it('messages of one tick leave at once when there is a lot of them', () => {
    const writes = recordWrites();
    for (let sent = 0; sent < 64; sent += 1) connection.writer.send('x'.repeat(1024));
    expect(writes).toHaveLength(1);
  });

  it.each<readonly [what: string, end: () => void]>([
    ['cut', () => connection.terminate()],
    ['ended', () => void tracker.latest.end()],
  ])('the messages of one tick are dropped when the connection is %s meanwhile', async (_what, end) => {
    const writes = recordWrites();
    const side = tracker.latest;
    connection.writer.send('too late');
    end();
    client.socket.end();
    await client.closed;
    await tracker.whenSockets(0);
    expect(writes).toEqual([]);
    expect(side.errored).toBeNull();
  });
});

describe('a message that is being compressed', () => {
  const LONG = 'Lorem ipsum dolor sit amet. '.repeat(4000);

  it('a message that is being compressed is not overtaken, and overtakes nothing', async () => {
    client.socket.destroy();
    await tracker.whenSockets(0);
    await using compressing = await SocketClient.open(service, { perMessageDeflate: true });
    expect(compressing.socket.extensions).toBe('permessage-deflate');
    const { writer } = tracker.only;
    const received: string[] = [];
    const sent: string[] = [];
    const send = (message: string): void => {
      sent.push(message);
      writer.send(message);
    };
    compressing.socket.on('ping', () => received.push('ping'));
    compressing.socket.on('message', (data: Buffer) => received.push(data.toString()));
    for (let round = 0; round < 20; round += 1) {
      for (const text of ['a', 'b', LONG, 'c', 'd', 'é', LONG, LONG, 'e']) send(JSON.stringify({ type: text, round }));
      sent.push('ping');
      writer.ping();
      send(JSON.stringify({ type: 'f', round }));
      // Some rounds come while the messages of the one before are still being compressed.
      if (round % 2 === 0) continue;
      sent.push('ping');
      await writer.allSent();
    }
    send('{"type":"end"}');
    while ((await compressing.next()).type !== 'end');
    expect(received.map((message) => message.slice(0, 20))).toEqual(sent.map((message) => message.slice(0, 20)));
    expect(received.join() === sent.join()).toBe(true);
  });
});

describe('a control frame', () => {
  it('a control frame leaves after what was sent before: a ping', async () => {
    const writes = recordWrites();
    connection.writer.send('a');
    connection.writer.ping();
    connection.writer.send('b');
    expect(await nextFrames(client, 3)).toEqual(['a', 'ping', 'b']);
    expect(writes).toHaveLength(1);
  });

  it('a control frame leaves after what was sent before: a pong', async () => {
    client.socket.write(Buffer.concat([NO_JSON, frameOf('ping'), NO_JSON]));
    const error = expect.stringContaining('invalid_json');
    expect(await nextFrames(client, 3)).toEqual([error, 'pong', error]);
  });

  it('a control frame leaves after what was sent before: a close', async () => {
    const writes = recordWrites();
    connection.writer.send('a');
    connection.dropSlowReader();
    connection.writer.send('b');
    expect(await nextFrames(client, 2)).toEqual(['a', 'close']);
    expect(writes).toHaveLength(1);
  });

  it.each<readonly [what: string, bytes: Buffer]>([
    ['one that closes', frameOf('close')],
    ['one that breaks the protocol', Buffer.from([0x83, 0x80, 0, 0, 0, 0])],
  ])('a control frame leaves after what was sent before: the answer to a client, %s', async (_what, bytes) => {
    client.socket.write(Buffer.concat([NO_JSON, bytes]));
    expect(await nextFrames(client, 2)).toEqual([expect.stringContaining('invalid_json'), 'close']);
  });

  it('the connection tells when all is sent, before it is cut', async () => {
    connection.writer.send('a');
    await connection.cut();
    expect(await nextFrames(client, 2)).toEqual(['a', 'ping']);
    await client.closed;
  });
});
