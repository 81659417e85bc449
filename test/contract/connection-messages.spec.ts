import { describe, expect, it } from '@jest/globals';
import type { ClientOptions } from 'ws';

import { ScriptedProvider } from '../../src/testing/index.js';
import { RawSocketClient } from '../support/connection-raw.js';
import { useService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';

const LIMIT = 20_000;
const DEFLATE: ClientOptions = { perMessageDeflate: { threshold: 0 } };
const PLAIN: ClientOptions = { perMessageDeflate: false };

/** A turn whose message is exactly so long, in characters of one byte and of four. */
function messageOf(bytes: number): Buffer {
  const start = '{"type":"response.create","model":"scripted","input":"🦊';
  const end = '"}';
  const fill = bytes - Buffer.byteLength(start + end);
  return Buffer.from(start + 'x'.repeat(fill) + end);
}

/** Ways of a message to reach the service. */
const WAYS: readonly (readonly [
  name: string,
  options: ClientOptions,
  send: (client: SocketClient, message: Buffer) => void,
])[] = [
  ['whole', PLAIN, ({ socket }, message) => socket.send(message, { binary: false })],
  ['compressed', DEFLATE, ({ socket }, message) => socket.send(message, { binary: false, compress: true })],
  ['in fragments', PLAIN, sendInFragments],
  ['compressed in fragments', DEFLATE, sendInFragments],
];

function sendInFragments({ socket }: SocketClient, message: Buffer): void {
  for (let start = 0; start < message.length; start += 4999) {
    const end = start + 4999;
    socket.send(message.subarray(start, end), { binary: false, fin: end >= message.length });
  }
}

describe('a message of a client', () => {
  const observer = new RecordingObserver();
  const service = useService({
    providers: [ScriptedProvider],
    imports: [observer.asModule()],
    environment: { WS_MAX_MESSAGE_BYTES: LIMIT },
  });

  it.each(WAYS)('a message of a client may be as long as WS_MAX_MESSAGE_BYTES: %s', async (_name, options, send) => {
    await using client = await SocketClient.open(service, options);
    for (let turn = 0; turn < 2; turn += 1) {
      send(client, messageOf(LIMIT));
      expect((await client.finish()).response.status).toBe('completed');
    }
  });

  it.each(WAYS)(
    'a message of a client closes the connection with 1009 when it is longer: %s',
    async (_name, options, send) => {
      await using other = await SocketClient.open(service);
      await using client = await SocketClient.open(service, options);
      const before = service.provider.turns.length;
      send(client, messageOf(LIMIT + 1));
      expect(await client.closed).toMatchObject({ code: 1009 });
      expect(client.unread).toEqual([]);
      expect(service.provider.turns).toHaveLength(before);
      expect((await other.turn({ input: 'Hi' })).response.status).toBe('completed');
    },
  );

  it('a message of a client is not unpacked when it is a bomb', async () => {
    await using client = await SocketClient.open(service, DEFLATE);
    client.socket.send('x'.repeat(50_000_000), { compress: true });
    expect(await client.closed).toMatchObject({ code: 1009 });
  });

  it('a message of a client is refused for what it says about its length, before it is there', async () => {
    using client = await RawSocketClient.open(service);
    // The head of a text frame of 1 GB, masked; nothing of it follows.
    client.socket.write(Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0]));
    expect(await client.nextClose()).toMatchObject({ code: 1009 });
  });

  it('a message of a client that is too long ends the turns of its connection', async () => {
    const { length } = observer.records;
    const held = new HeldTurns(service.provider).hold();
    await using client = await SocketClient.open(service, PLAIN);
    client.create({ input: 'running' });
    await held.whenBegun(1);
    client.send(messageOf(LIMIT + 1));
    expect(await client.closed).toMatchObject({ code: 1009 });
    await observer.whenSettled(length + 1);
    expect(observer.records.at(-1)).toMatchObject({ status: 'disconnected' });
  });

  it.each<readonly [string, number, (client: RawSocketClient) => void]>([
    ['no mask', 1002, ({ socket }) => socket.write(Buffer.from([0x81, 0x02, 0x7b, 0x7d]))],
    ['a reserved opcode', 1002, ({ socket }) => socket.write(Buffer.from([0x83, 0x80, 0, 0, 0, 0]))],
    ['a reserved bit', 1002, ({ socket }) => socket.write(Buffer.from([0xc1, 0x80, 0, 0, 0, 0]))],
    ['nothing to continue', 1002, (client) => client.send('continuation', '{}')],
    ['a ping in pieces', 1002, (client) => client.send('ping', '', { fin: false })],
    ['a long ping', 1002, (client) => client.send('ping', 'x'.repeat(126))],
    ['a close code that cannot be', 1002, (client) => client.send('close', Buffer.from([0x03, 0xed]))],
  ])('a message of a client that breaks the rules of frames closes the connection: %s', async (_name, code, send) => {
    using client = await RawSocketClient.open(service);
    send(client);
    expect(await client.nextClose()).toMatchObject({ code });
    client.socket.end();
    await client.closed;
  });
});
