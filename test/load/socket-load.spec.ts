// Slow: opens thousands of sockets.

import { getEventListeners } from 'node:events';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { beforeAll, describe, expect, it } from '@jest/globals';

import {
  Clock,
  type Item,
  type ModelEvent,
  type ModelInfo,
  ModelProvider,
  ModelProviderBase,
  type Turn,
} from '../../src/index.js';
import { ConnectionRegistry } from '../../src/connections/index.js';
import { RunningTurns } from '../../src/responses/index.js';
import { FakeClock } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { type Holdings, takeStock } from '../support/raw-heap.js';
import { SocketClient } from '../support/socket-client.js';

const SOCKETS = 100;
const TURNS = 9;
const WAVES = 5;

/** What caches and compiled code grow by, bytes for each socket; a connection that is kept holds eleven kilobytes. */
const MOST_OF_SOCKET = 8 * 1024;

/** What they grow by while sixteen requests of a megabyte are made. */
const MOST_OF_FORKS = 12 * 1024 * 1024;

function textOf({ content }: Item): string {
  return (content as readonly { readonly text: string }[]).map(({ text }) => text).join();
}

/** Repeats what it was told last, and remembers all it saw. Told to `wait` it does so until it is stopped. */
@ModelProvider('echo')
class EchoProvider extends ModelProviderBase {
  contexts: (readonly string[])[] = [];
  signals: AbortSignal[] = [];

  override async models(): Promise<readonly ModelInfo[]> {
    return [this.find('scripted')];
  }

  override find(model: string): ModelInfo {
    return { id: model, ownedBy: 'echo', created: 1_767_225_600 };
  }

  override async *generate(
    turn: Turn,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<readonly ModelEvent[], void, undefined> {
    const texts = turn.context.map(textOf);
    this.contexts.push(texts);
    this.signals.push(signal);
    const last = texts.at(-1) ?? '';
    yield [{ type: 'text', delta: `re ${last}` }];
    if (last === 'wait') await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await nextLoopTurn();
    // Reported, so that nobody counts the tokens of all that.
    yield [
      { type: 'usage', input: 1, output: 1 },
      { type: 'finish', reason: 'stop' },
    ];
  }
}

describe('a service with many sockets', () => {
  const clock = new FakeClock();
  const service = useService({
    providers: [EchoProvider],
    overrides: [[Clock, clock]],
    // The usage of turns that are not stored waits for others a while.
    environment: { MEMORY_MAX_RESPONSES: 100, USAGE_RETENTION_DAYS: 0 },
  });
  let echo: EchoProvider;
  let registry: ConnectionRegistry;
  /** Timers of a service that nobody talks to. */
  let idleTimers: number;

  beforeAll(() => {
    echo = service.app.get(EchoProvider);
    registry = service.app.get(ConnectionRegistry);
    idleTimers = clock.pending;
  });

  async function whenAllGone(): Promise<void> {
    while (registry.size > 0 || service.app.get(RunningTurns).size > 0) await nextLoopTurn();
  }

  /** A conversation that goes from lane to lane, half of it stored. Gives everything that was said, in order. */
  async function converse(client: SocketClient, name: string): Promise<readonly string[]> {
    const said: string[] = [];
    let previous_response_id: string | null = null;
    for (let turn = 0; turn < TURNS; turn += 1) {
      const stream_id = `lane-${turn % 3}`;
      const input = `${name}, turn ${turn}`;
      const body = { stream_id, input, previous_response_id, store: turn % 2 === 0 };
      const { response } = await client.turn(body);
      said.push(input, `re ${input}`);
      expect(response).toMatchObject({ previous_response_id, output: [{ content: [{ text: `re ${input}` }] }] });
      previous_response_id = response.id;
    }
    return said;
  }

  it(`a service with many sockets keeps the conversations of ${SOCKETS} sockets apart over ${TURNS} turns each`, async () => {
    const clients = await Promise.all(Array.from({ length: SOCKETS }, () => SocketClient.open(service)));
    expect(registry.size).toBe(SOCKETS);
    const conversations = await Promise.all(clients.map((client, index) => converse(client, `socket ${index}`)));
    expect(clients.flatMap(({ unread }) => unread)).toEqual([]);
    await Promise.all(clients.map((client) => client.close()));
    await whenAllGone();
    const bySocket = new Map(conversations.map((said) => [said[0], said]));
    expect(echo.contexts).toHaveLength(SOCKETS * TURNS);
    for (const context of echo.contexts) {
      // Only its own texts, all of them, and each at its place.
      expect(context).toEqual(bySocket.get(context[0])?.slice(0, context.length));
    }
  });

  /** One of the ways in which clients come and go. */
  async function visit(kind: number): Promise<void> {
    const client = await SocketClient.open(service, { perMessageDeflate: kind % 2 === 0 });
    switch (kind % 7) {
      case 0:
        break;
      case 1:
        await client.turn({ input: 'Hi', store: false });
        break;
      case 2:
        client.create({ input: 'Hi' });
        break;
      case 3:
        client.create({ input: 'wait' });
        for (const stream_id of ['a', 'a', 'a', 'b', 'b']) client.create({ stream_id, input: 'wait' });
        await client.nextOf('b');
        break;
      case 4:
        for (let count = 0; count < 150; count += 1) client.create({ stream_id: 'a', input: 'wait' });
        break;
      case 5:
        client.send('nonsense');
        expect(await client.next()).toMatchObject({ type: 'error', error: { code: 'invalid_json' } });
        break;
      case 6:
        await client.warmUp({ input: 'Hi', store: false });
        client.send({ type: 'response.append', input: [{ role: 'user', content: 'wait' }] });
    }
    if (kind % 3 === 0) client.socket.terminate();
    else client.socket.close();
    await client.closed;
  }

  async function wave(): Promise<void> {
    await Promise.all(Array.from({ length: SOCKETS }, (_, kind) => visit(kind)));
    await whenAllGone();
  }

  async function stock(): Promise<Holdings> {
    echo.contexts = [];
    // What a provider was given to stop it holds nothing of its connection any more.
    expect(echo.signals.filter((signal) => getEventListeners(signal, 'abort').length > 0)).toEqual([]);
    echo.signals = [];
    return takeStock();
  }

  it(`a service with many sockets holds on to nothing of ${SOCKETS * WAVES} sockets that came and went`, async () => {
    for (let count = 0; count < 2; count += 1) await wave();
    const before = await stock();
    for (let count = 0; count < WAVES; count += 1) await wave();
    const after = await stock();
    expect(clock.pending).toBe(idleTimers);
    expect(after.heapBytes - before.heapBytes).toBeLessThan(SOCKETS * WAVES * MOST_OF_SOCKET);
    for (const [name, count] of Object.entries(after.resources)) {
      expect({ name, more: count - (before.resources[name] ?? 0) < 5 }).toEqual({ name, more: true });
    }
  });

  it('a service with many sockets holds nothing of a fork that no lane remembers any more', async () => {
    const client = await SocketClient.open(service);
    const fork = async (round: number): Promise<void> => {
      const { response } = await client.warmUp({ stream_id: `root-${round}`, input: 'root', store: false });
      const input = 'all these words '.repeat(65_536);
      await client.turn({ stream_id: 'fork', input, store: false, previous_response_id: response.id });
    };
    await fork(0);
    const before = await stock();
    for (let round = 1; round <= 16; round += 1) await fork(round);
    expect((await stock()).heapBytes - before.heapBytes).toBeLessThan(MOST_OF_FORKS);
    await client.close();
    await whenAllGone();
  });

  it('a service with many sockets has every place free again afterwards', async () => {
    const clients = await Promise.all(Array.from({ length: SOCKETS }, () => SocketClient.open(service)));
    await Promise.all(clients.map((client) => client.turn({ input: 'Hi' })));
    await Promise.all(clients.map((client) => client.close()));
    await whenAllGone();
  });
});
