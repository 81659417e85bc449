// Slow: sends thousands of frames.

import type { Socket } from 'node:net';
import { deflateRawSync } from 'node:zlib';

import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { ConnectionRegistry } from '../../src/connections/index.js';
import { RunningTurns } from '../../src/responses/index.js';
import { checkEventOrder, ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { anyCharacter } from '../support/any-character.js';
import { useService } from '../support/describe-service.js';
import { DEEP_VALUES, editedBody, NASTY_VALUES } from '../support/raw-bodies.js';
import { SocketClient } from '../support/socket-client.js';

const SEED = 20_261_121;
const TEXT = 1;
const BINARY = 2;
const FIN = 0x80;
const RSV1 = 0x40;
const MEGABYTE = 1024 * 1024;

/** Every message is compressed on its own, so that ours do not disturb the client's. */
const COMPRESSED = { perMessageDeflate: { clientNoContextTakeover: true } };

/** A frame as it stands on the wire, masked with zeros. */
function frame(head: number, payload: Buffer | string, { masked = true, length = -1 } = {}): Buffer {
  const bytes = Buffer.from(payload);
  const size = length < 0 ? bytes.length : length;
  const mask = masked ? 0x80 : 0;
  const start = Buffer.alloc(size > 65_535 ? 10 : size > 125 ? 4 : 2);
  start[0] = head;
  start[1] = mask | (size > 65_535 ? 127 : size > 125 ? 126 : size);
  if (size > 65_535) start.writeBigUInt64BE(BigInt(size), 2);
  else if (size > 125) start.writeUInt16BE(size, 2);
  return Buffer.concat([start, Buffer.alloc(masked ? 4 : 0), bytes]);
}

/** What lies below the client's own sender. */
function below(client: SocketClient): Socket {
  return (client.socket as unknown as { readonly _socket: Socket })._socket;
}

const lane = fc.constantFrom(undefined, 'a', '__proto__', 'constructor', 'toString', '.', '-', 'x'.repeat(256));
const nasty = fc.constantFrom(...NASTY_VALUES, ...DEEP_VALUES);

/** A request in an envelope, as flat and as nested as clients send it. */
const envelope = fc
  .record({ body: editedBody, lane, nested: fc.boolean(), append: fc.boolean() })
  .map(({ body, lane: stream_id, nested, append }) => {
    const members = JSON.stringify({ type: append ? 'response.append' : 'response.create', stream_id }).slice(0, -1);
    if (nested) return `${members},"response":${body}}`;
    return body.length > 2 && body.startsWith('{') ? `${members},${body.slice(1)}` : body;
  });

/** JSON objects with one member that nobody expects there. */
const oddity = fc
  .record({
    type: fc.constantFrom('response.create', 'response.steer', 'response.append', 'response.cancel', 'error'),
    name: fc.constantFrom('type', 'stream_id', 'response', 'input', 'model', '__proto__', 'constructor', 'generate'),
    value: nasty,
  })
  .map(({ type, name, value }) => `{"type":"${type}","model":"m","input":"Hi","${name}":${value}}`);

const text = fc.oneof(
  envelope,
  oddity,
  nasty,
  fc.json(),
  fc.string({ unit: anyCharacter }),
  fc.constant('{"type":"response.processed","response_id":"resp_1"}'),
);

interface Message {
  readonly bytes: Buffer;
  readonly opcode: number;
  readonly cuts: readonly number[];
  readonly pings: readonly Uint8Array[];
  readonly compressed: boolean;
}

const message: fc.Arbitrary<Message> = fc.record({
  bytes: fc.oneof(
    { weight: 8, arbitrary: text.map((value) => Buffer.from(value)) },
    fc.uint8Array({ maxLength: 300 }).map((value) => Buffer.from(value)),
  ),
  opcode: fc.constantFrom(TEXT, TEXT, TEXT, TEXT, BINARY),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
  pings: fc.array(fc.uint8Array({ maxLength: 125 }), { maxLength: 2 }),
  compressed: fc.boolean(),
});

/** A message in its fragments, with pings and pongs between them. */
function encode({ bytes, opcode, cuts, pings, compressed }: Message): Buffer {
  const payload = compressed ? deflateRawSync(bytes, { finishFlush: 2 }).subarray(0, -4) : bytes;
  const ends = [...cuts.map((cut) => Math.floor(cut * payload.length)).sort((a, b) => a - b), payload.length];
  const controls = pings.map((ping, index) => frame(FIN | (index % 2 === 0 ? 9 : 10), Buffer.from(ping)));
  const fragments = ends.map((end, index) => {
    const head = index > 0 ? 0 : opcode | (compressed ? RSV1 : 0);
    return frame(head | (index === ends.length - 1 ? FIN : 0), payload.subarray(ends[index - 1] ?? 0, end));
  });
  return Buffer.concat(fragments.flatMap((fragment) => [...controls, fragment]));
}

/** `response.processed` is the one message without an answer. */
function answersTo({ bytes, opcode }: Message): number {
  return opcode === TEXT && bytes.toString().startsWith('{"type":"response.processed"') ? 0 : 1;
}

const ENDS = /^(?:error|response\.(?:completed|failed|incomplete|steer\.failed))$/;
const control = fc.constantFrom(8, 9, 10);
const noise = fc.uint8Array({ minLength: 1, maxLength: 120 }).map((bytes) => Buffer.from(bytes));
const bomb = deflateRawSync(Buffer.alloc(MEGABYTE + 1), { finishFlush: 2 });

/** Frames against the protocol. */
const wrong = fc.oneof(
  fc.tuple(fc.constantFrom(3, 4, 5, 6, 7, 11, 12, 13, 14, 15), noise).map(([op, bytes]) => frame(FIN | op, bytes)),
  fc.tuple(fc.constantFrom(0x10, 0x20, 0x30), noise).map(([rsv, bytes]) => frame(FIN | rsv | TEXT, bytes)),
  fc.tuple(fc.constantFrom(TEXT, BINARY), noise).map(([op, bytes]) => frame(FIN | op, bytes, { masked: false })),
  fc.tuple(control, noise).map(([op, bytes]) => frame(FIN | RSV1 | op, bytes)),
  fc.tuple(control, noise).map(([op, bytes]) => frame(op, bytes)),
  fc.tuple(control, noise).map(([op, bytes]) => frame(FIN | op, bytes, { length: 126 })),
  noise.map((bytes) => frame(FIN, bytes)),
  noise.map((bytes) => Buffer.concat([frame(TEXT, bytes), frame(FIN | TEXT, bytes)])),
  fc.constantFrom(0, 999, 1005, 1006, 2999, 5000).map((code) => frame(FIN | 8, Buffer.from([code >> 8, code & 255]))),
  noise.map((bytes) => frame(FIN | 8, bytes.subarray(0, 1))),
);
const undeflatable = noise.map((bytes) => frame(FIN | RSV1 | TEXT, Buffer.concat([Buffer.from([0xff]), bytes])));
const tooLarge = fc.oneof(
  fc.integer({ min: MEGABYTE + 1 }).map((length) => frame(FIN | BINARY, '', { length })),
  fc.constant(frame(FIN | RSV1 | TEXT, bomb)),
);

/** Frames that no client may send, each with the code that the connection is closed with. */
const broken = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.constant(1002), wrong) },
  { weight: 1, arbitrary: fc.tuple(fc.constant(1007), undeflatable) },
  { weight: 1, arbitrary: fc.tuple(fc.constant(1009), tooLarge) },
);

describe(`a socket that gets thousands of frames nobody should send (seed ${SEED})`, () => {
  const service = useService({ providers: [ScriptedProvider], environment: { WS_MAX_MESSAGE_BYTES: MEGABYTE } });
  let client: SocketClient;
  const spoken: string[] = [];
  const steady: WireEvent[] = [];
  /** What the turn that runs all the while says next; an empty text ends it. */
  let speak: (text: string) => void = () => undefined;

  beforeAll(async () => {
    client = await SocketClient.open(service, COMPRESSED);
    service.app.get(ScriptedProvider).play(async function* () {
      for (;;) {
        const delta = await new Promise<string>((resolve) => (speak = resolve));
        if (delta === '') break;
        yield [{ type: 'text', delta }];
      }
      yield [{ type: 'finish', reason: 'stop' }];
    });
    client.create({ stream_id: 'steady', input: 'Hi', store: false });
    for (let count = 0; count < 2; count += 1) steady.push(await client.nextOf('steady'));
  });

  /** Reads until so many messages have their answer; the steady lane's own frames are put aside. */
  async function readAnswers(count: number): Promise<void> {
    for (let left = count; left > 0;) {
      const event = await client.next();
      if (event['stream_id'] === 'steady') steady.push(event);
      else if (ENDS.test(event.type)) left -= 1;
    }
  }

  it('a socket answers every message once, and runs turns between them and beside them', async () => {
    const property = fc.asyncProperty(fc.array(message, { minLength: 50, maxLength: 50 }), async (messages) => {
      below(client).write(Buffer.concat(messages.map(encode)));
      spoken.push(`batch ${spoken.length} `);
      speak(spoken.at(-1) ?? '');
      await readAnswers(messages.reduce((sum, one) => sum + answersTo(one), 0));
      await client.turn({ stream_id: 'probe', input: 'Hi', store: false });
      while (client.unread.length > 0) steady.push(await client.next());
      expect(steady.filter(({ stream_id }) => stream_id !== 'steady')).toEqual([]);
    });
    await fc.assert(property, { seed: SEED, numRuns: 60, endOnFailure: true });
    speak('');
    while (!ENDS.test(steady.at(-1)?.type ?? '')) steady.push(await client.nextOf('steady'));
    const plain = steady.map(({ stream_id: _lane, ...event }) => event);
    checkEventOrder(plain, { transport: 'ws' });
    expect(plain.at(-1)).toMatchObject({ response: { output: [{ content: [{ text: spoken.join('') }] }] } });
  });

  it('a socket closes for broken frames with the code that says why, and for no other connection', async () => {
    const property = fc.asyncProperty(message, broken, async (before, [code, bytes]) => {
      await using other = await SocketClient.open(service, COMPRESSED);
      below(other).write(Buffer.concat([encode(before), bytes]));
      await expect(other.closed).resolves.toMatchObject({ code });
    });
    await fc.assert(property, { seed: SEED, numRuns: 300, endOnFailure: true });
    await client.turn({ stream_id: 'probe', input: 'Hi', store: false });
  });

  it('a socket survives bytes that are no frames', async () => {
    const property = fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (bytes) => {
      await using other = await SocketClient.open(service, COMPRESSED);
      below(other).end(Buffer.from(bytes));
      await other.closed;
    });
    await fc.assert(property, { seed: SEED, numRuns: 100, endOnFailure: true });
    await client.turn({ stream_id: 'probe', input: 'Hi', store: false });
  });

  it('the service holds on to nothing of thousands of frames', async () => {
    await Promise.all([client.close(), service.app.get(ConnectionRegistry).close()]);
    expect(service.app.get(RunningTurns).size).toBe(0);
  });
});
