import { once } from 'node:events';

import { expect, it } from '@jest/globals';
import { WebSocket } from 'ws';

import { ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';
import { isEnd, SocketClient } from '../support/socket-client.js';

const MEGABYTE = 1024 * 1024;

/** The head of a frame (RFC 6455 section 5.2). */
interface FrameHead {
  readonly fin: boolean;
  readonly opcode: number;
  readonly length: number;
}

describeService('large messages', { providers: [ScriptedProvider] }, (service) => {
  /** The frames of everything up to the end of one turn, as they are on the wire, uncompressed. */
  const readFrames = async (): Promise<{
    readonly heads: readonly FrameHead[];
    readonly events: readonly WireEvent[];
  }> => {
    const socket = new WebSocket(`ws://127.0.0.1:${service.port}/v1/responses`, { perMessageDeflate: false });
    const pieces: Buffer[] = [];
    socket.once('upgrade', ({ socket: stream }) => stream.on('data', (piece: Buffer) => pieces.push(piece)));
    const events: WireEvent[] = [];
    const ended = new Promise((resolve) => {
      socket.on('message', (data: Buffer) => {
        events.push(JSON.parse(data.toString()) as WireEvent);
        if (events.some(isEnd)) resolve(undefined);
      });
      socket.once('close', resolve);
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'response.create', model: 'm', input: 'Hi', store: false }));
    await ended;
    socket.terminate();
    return { heads: headsOf(Buffer.concat(pieces)), events };
  };

  it('large messages leave in frames of at most 8 MiB', async () => {
    const large = 'x'.repeat(9 * MEGABYTE);
    service.provider.reply({ type: 'text', delta: 'Small.' });
    const { heads: small } = await readFrames();
    expect(small.every(({ fin, opcode }) => fin && opcode === 1)).toBe(true);

    service.provider.play(async function* () {
      yield [{ type: 'function_call', name: 'f', callId: 'call_1' }];
      yield [{ type: 'function_call_arguments', delta: large }];
      yield [{ type: 'finish', reason: 'stop' }];
    });
    const { heads, events } = await readFrames();
    expect(events.find(({ type }) => type === 'response.function_call_arguments.delta')?.['delta']).toBe(large);
    expect(events.at(-1)?.type).toBe('response.completed');
    expect(Math.max(...heads.map(({ length }) => length))).toBe(8 * MEGABYTE);
    const begun = heads.findIndex(({ fin }) => !fin);
    expect(heads[begun]).toEqual({ fin: false, opcode: 1, length: 8 * MEGABYTE });
    expect(heads[begun + 1]).toMatchObject({ fin: true, opcode: 0 });
  });

  it.each([
    ['in one piece', 1],
    ['in many', 64],
  ])(
    'large messages reach a client that reads, although one end repeats the whole text several times: %s',
    async (_, pieces) => {
      const text = 'x'.repeat((9 * MEGABYTE) / pieces);
      service.provider.play(async function* () {
        for (let piece = 0; piece < pieces; piece += 1) yield [{ type: 'text', delta: text }];
        yield [{ type: 'finish', reason: 'stop' }];
      });
      await using client = await SocketClient.open(service, { perMessageDeflate: false });
      const { response } = await client.turn({ input: 'Hi', store: false });
      expect(response).toMatchObject({ status: 'completed' });
      const [{ content }] = response['output'] as [{ readonly content: readonly { readonly text: string }[] }];
      expect(content[0]?.text === text.repeat(pieces)).toBe(true);
    },
  );

  it('large messages come from clients up to 16 MiB, and beyond that the socket is closed with 1009', async () => {
    await using client = await SocketClient.open(service, { perMessageDeflate: false });
    const content = 'x'.repeat(7.5 * MEGABYTE);
    const input = ['user', 'user'].map((role) => ({ role, content }));
    expect(await nextEndOf(client, { input, store: false })).toMatchObject({ type: 'response.completed' });
    client.create({ input: 'x'.repeat(17 * MEGABYTE) });
    await expect(client.closed).resolves.toMatchObject({ code: 1009 });
  });
});

async function nextEndOf(client: SocketClient, body: object): Promise<WireEvent> {
  client.create(body);
  return client.nextEnd();
}

function headsOf(bytes: Buffer): readonly FrameHead[] {
  const heads: FrameHead[] = [];
  for (let at = 0; at + 10 <= bytes.length;) {
    const [first = 0, second = 0] = [bytes[at], bytes[at + 1]];
    const short = second & 0x7f;
    const [length, skip] =
      short < 126
        ? [short, 2]
        : short === 126
          ? [bytes.readUInt16BE(at + 2), 4]
          : [Number(bytes.readBigUInt64BE(at + 2)), 10];
    heads.push({ fin: (first & 0x80) !== 0, opcode: first & 0x0f, length });
    at += skip + length;
  }
  return heads;
}
