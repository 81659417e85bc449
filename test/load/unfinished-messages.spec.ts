import { afterEach, describe, expect, it } from '@jest/globals';

import { ConnectionRegistry } from '../../src/connections/index.js';
import { useService } from '../support/describe-service.js';
import { heldBy, MEGABYTE, until } from '../support/held-bodies.js';
import { SocketClient } from '../support/socket-client.js';

const LIMIT = 4 * MEGABYTE;
const TOTAL = 16 * MEGABYTE;
const COUNT = 12;

const service = useService({
  environment: { WS_MAX_MESSAGE_BYTES: LIMIT, BODY_LIMIT_BYTES: LIMIT, BODY_TOTAL_BYTES: TOTAL },
});
const clients: SocketClient[] = [];

afterEach(async () => {
  for (const { socket } of clients) socket.terminate();
  await Promise.all(clients.splice(0).map(({ closed }) => closed));
  await until(() => held() === 0);
});

const held = (): number => heldBy(service);

async function connect(): Promise<SocketClient> {
  const client = await SocketClient.open(service, { perMessageDeflate: true });
  clients.push(client);
  return client;
}

/** The beginning of a message, 3.5 MiB of its text. */
const BEGINNING = Buffer.from(
  `{"type":"response.create","model":"gpt-4.1","client_metadata":{"x":"${'x'.repeat(3.5 * MEGABYTE)}`,
);
const END = Buffer.from('"},"input":"Hi"}');

describe.each([
  ['in compressed fragments', true],
  ['in fragments', false],
])('unfinished messages %s', (_name, compress) => {
  const begin = ({ socket }: SocketClient): void => socket.send(BEGINNING, { fin: false, binary: false, compress });

  it('unfinished messages share the budget of all bodies: beyond it the largest connections end with an error frame and 1013', async () => {
    const idle = await connect();
    const senders = await Promise.all(Array.from({ length: COUNT }, connect));
    let ended = 0;
    for (const sender of senders) {
      begin(sender);
      void sender.closed.then(() => (ended += 1));
    }
    const fitting = Math.floor(TOTAL / BEGINNING.length);
    await until(() => {
      expect(held()).toBeLessThanOrEqual(TOTAL);
      return ended === COUNT - fitting;
    });
    expect(held()).toBeGreaterThanOrEqual(fitting * BEGINNING.length);
    const { response } = await idle.turn({ input: 'Hi' });
    expect(response.status).toBe('completed');

    const refused = senders.filter(({ socket }) => socket.readyState === socket.CLOSED);
    for (const client of refused) {
      const frame = await client.next();
      expect(frame).toMatchObject({ type: 'error', status: 503, error: { code: 'server_is_overloaded' } });
      expect(await client.closed).toEqual({ code: 1013, reason: 'too_many_large_messages' });
    }
  });

  it('unfinished messages are read when their end comes, and hold nothing then', async () => {
    const client = await connect();
    begin(client);
    await until(() => held() >= BEGINNING.length);
    client.socket.send(END, { fin: true, binary: false, compress });
    let frame = await client.next();
    while (frame.type !== 'response.completed') frame = await client.next();
    expect(held()).toBe(0);
  });

  it('unfinished messages hold nothing once their clients have left', async () => {
    const client = await connect();
    begin(client);
    await until(() => held() >= BEGINNING.length);
    client.socket.terminate();
    await until(() => held() === 0);
  });
});

it('a message of very many fragments ends its connection', async () => {
  const client = await connect();
  for (let count = 0; count <= 1024; count += 1) client.socket.send(' ', { fin: false, binary: false });
  expect(await client.closed).toMatchObject({ code: 1008 });
});

describe('long messages', () => {
  it('long messages are answered in the order in which they came, with the short ones after them', async () => {
    const client = await connect();
    const long = `{"type":"nonsense.long","x":"${'x'.repeat(3 * MEGABYTE)}"}`;
    for (const message of [long, '{"type":"nonsense.short"}', '{', long, '{"type":"nonsense.last"}'])
      client.send(message);
    const messages = [];
    for (let count = 0; count < 5; count += 1) {
      const { error } = (await client.next()) as unknown as { readonly error: { readonly message: string } };
      messages.push(/nonsense\.\w+|not parse/.exec(error.message)?.[0]);
    }
    expect(messages).toEqual(['nonsense.long', 'nonsense.short', 'not parse', 'nonsense.long', 'nonsense.last']);
    await until(() => held() === 0);
    await expect(client.turn({ input: 'Hi' })).resolves.toMatchObject({ response: { status: 'completed' } });
  });
});

describe('a message that is being read', () => {
  const long = `{"type":"nonsense","x":"${'x'.repeat(LIMIT - MEGABYTE)}"}`;

  it('a message that is being read holds nothing once the service has ended its connection, nor does what came behind it', async () => {
    const client = await connect();
    client.send(long);
    client.socket.send(BEGINNING, { fin: false, binary: false, compress: true });
    await until(() => held() >= long.length);
    service.app.get(ConnectionRegistry).terminate();
    await client.closed;
    await until(() => held() === 0);
  });

  it('a message that is being read is answered, however many others begin one', async () => {
    const [reading, ...others] = await Promise.all(Array.from({ length: COUNT }, connect));
    // Many in a row, so that some wait while the others arrive.
    for (let count = 0; count < 3; count += 1) reading?.send(long);
    for (const { socket } of others) socket.send(BEGINNING, { fin: false, binary: false });
    for (let count = 0; count < 3; count += 1) {
      expect(await reading?.next()).toMatchObject({ error: { code: 'unknown_event_type' } });
    }
  });
});
