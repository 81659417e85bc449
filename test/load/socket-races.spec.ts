import { getEventListeners } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterEach, describe, expect, it, jest } from '@jest/globals';

import { ConnectionRegistry } from '../../src/connections/index.js';
import { Clock, ResponseStore } from '../../src/index.js';
import { RunningTurns } from '../../src/responses/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { transcript } from '../support/output.js';

const MEGABYTE = 1024 * 1024;
const isCompleted = { response: { status: 'completed' } };

/** Reported, so that nobody counts the tokens of much text. */
const COUNTED = { type: 'usage', input: 1, output: 1 } as const;

describe('what happens at the same time on a socket', () => {
  let service: Service;
  let provider: ScriptedProvider;
  let held: HeldTurns;
  /** Timers of a service that nobody talks to. */
  let idleTimers: number;

  const start = async (environment: Record<string, unknown> = {}, clock?: FakeClock): Promise<SocketClient> => {
    const overrides = clock === undefined ? [] : [[Clock, clock] as const];
    service = await startService({ providers: [ScriptedProvider], environment, overrides });
    provider = service.app.get(ScriptedProvider);
    held = new HeldTurns(provider);
    idleTimers = clock?.pending ?? 0;
    return SocketClient.open(service);
  };

  /** Waits until the service has noticed, too, that everybody left. */
  const whenAllGone = async (): Promise<void> => {
    const registry = service.app.get(ConnectionRegistry);
    while (registry.size > 0 || service.app.get(RunningTurns).size > 0) await nextLoopTurn();
  };

  /** Makes a method of the store wait. */
  const holdStore = (method: 'save' | 'chain') => {
    const called = Promise.withResolvers<undefined>();
    const gate = Promise.withResolvers<undefined>();
    const store = service.app.get(ResponseStore);
    const original = store[method].bind(store) as (...args: unknown[]) => Promise<never>;
    jest.spyOn(store, method).mockImplementationOnce(async (...args: unknown[]) => {
      called.resolve(undefined);
      await gate.promise;
      return original(...args);
    });
    return { called: called.promise, letGo: () => gate.resolve(undefined) };
  };

  /** Asks the service to end its oldest connection. */
  const retire = async (): Promise<void> => {
    const url = `${service.baseURL}/connections`;
    const { data } = (await (await fetch(url)).json()) as { readonly data: readonly { readonly id: string }[] };
    await fetch(`${url}/${data[0]?.id ?? ''}`, { method: 'DELETE' });
  };

  afterEach(() => service.close());

  it('a socket never refuses a turn for the place of one whose terminal event was seen', async () => {
    const clients = [await start({ MAX_RUNNING_TURNS: 1 }), await SocketClient.open(service)];
    for (let turn = 0; turn < 60; turn += 1) {
      const body = { stream_id: `lane-${turn % 5}`, input: 'Hi' };
      await expect(clients[turn % 2]?.turn(body)).resolves.toMatchObject(isCompleted);
    }
    for (let turn = 0; turn < 60; turn += 1) clients[0]?.create({ stream_id: 'a', input: 'Hi' });
    for (let turn = 0; turn < 60; turn += 1) await expect(clients[0]?.finish('a')).resolves.toMatchObject(isCompleted);
  });

  it('a socket lets sixteen forks grow from one response at once, without a trace of each other', async () => {
    const client = await start();
    const { response } = await client.turn({ stream_id: 'root', input: 'root', store: false });
    const lanes = Array.from({ length: 16 }, (_, index) => `fork-${index}`);
    for (let round = 0; round < 5; round += 1) {
      provider.turns.length = 0;
      for (const stream_id of lanes) {
        client.create({
          stream_id,
          input: `${stream_id} ${round}`,
          store: false,
          previous_response_id: response['id'],
        });
      }
      for (const lane of lanes) await expect(client.finish(lane)).resolves.toMatchObject(isCompleted);
      expect(provider.turns.map(({ context }) => transcript(context).slice(0, 2))).toEqual(
        lanes.map(() => ['user: root', 'assistant: ok']),
      );
      const own = provider.turns.map(({ context }) => transcript(context).slice(2));
      expect(own.sort()).toEqual(lanes.map((lane) => [`user: ${lane} ${round}`]).sort());
    }
  });

  it('a socket stops a turn whose client leaves while its parent is read from the store', async () => {
    const first = await start();
    const { response } = await first.turn({ input: 'Hi' });
    const client = await SocketClient.open(service);
    const { called, letGo } = holdStore('chain');
    client.create({ input: 'Go on', previous_response_id: response['id'] });
    await called;
    await client.close();
    await first.close();
    await whenAllGone();
    letGo();
    expect(provider.turns).toHaveLength(1);
  });

  it('a socket counts nothing for a connection that was closed while its turn was saved', async () => {
    const first = await start({ WS_CACHE_TOTAL_BYTES: 300_000 });
    for (let count = 0; count < 4; count += 1) {
      const client = await SocketClient.open(service);
      const { called, letGo } = holdStore('save');
      client.create({ input: 'x'.repeat(60_000) });
      await called;
      client.socket.terminate();
      await client.closed;
      while (service.app.get(ConnectionRegistry).size > 1) await nextLoopTurn();
      letGo();
      while (service.app.get(RunningTurns).size > 0) await nextLoopTurn();
    }
    const { response } = await first.turn({ input: 'Hi', store: false });
    const continued = first.turn({ input: 'Go on', store: false, previous_response_id: response['id'] });
    await expect(continued).resolves.toMatchObject(isCompleted);
  });

  it('a socket answers everything that waits exactly once when several reasons end a connection together', async () => {
    const client = await start({ WS_EXPIRY_GRACE_MS: 60_000 });
    held.hold();
    for (const input of ['runs', 'one', 'two', 'three']) client.create({ stream_id: 'a', input });
    await held.whenBegun(1);
    await Promise.all([retire(), retire(), retire()]);
    client.create({ stream_id: 'b', input: 'late' });
    expect(await client.nextOf('b')).toMatchObject({ type: 'error', status: 503 });
    held.letGo('runs');
    expect(await client.nextEnd('a')).toMatchObject(isCompleted);
    for (let count = 0; count < 3; count += 1) {
      expect(await client.nextOf('a')).toMatchObject({ type: 'error', status: 503 });
    }
    await expect(client.closed).resolves.toEqual({ code: 1000, reason: 'connection_retired' });
    expect(client.unread).toEqual([]);
    expect(held.begun).toEqual(['runs']);
  });

  it('a socket leaves no timer and no listener when the client goes first while it is seen out', async () => {
    const clock = new FakeClock();
    // The usage of a turn that is not stored waits for others a while.
    const client = await start({ USAGE_RETENTION_DAYS: 0 }, clock);
    const begun = Promise.withResolvers<AbortSignal>();
    provider.play(async function* (_turn, { signal }) {
      begun.resolve(signal);
      yield [{ type: 'text', delta: 'Hi' }];
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    });
    client.create({ input: 'Hi' });
    const signal = await begun.promise;
    await retire();
    client.socket.terminate();
    await client.closed;
    await whenAllGone();
    await nextLoopTurn();
    expect(clock.pending).toBe(idleTimers);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('response.append appends to what was appended before, in whatever form it came', async () => {
    const client = await start();
    await client.turn({ input: 'whole', store: false });
    client.send({ type: 'response.append', response: { input: [{ role: 'user', content: 'nested' }] } });
    await client.finish();
    client.send({ type: 'response.append', input: [{ role: 'user', content: 'flat' }] });
    await client.finish();
    expect(transcript(provider.turns.at(-1)?.context ?? [])).toEqual(['user: whole', 'user: nested', 'user: flat']);
  });

  it('a socket lets a turn go on as soon as its client reads, though the last it left unread were pongs', async () => {
    await start();
    const client = await SocketClient.open(service, { perMessageDeflate: false });
    const stream = (client.socket as unknown as { readonly _socket: Socket })._socket;
    let piece = 0;
    provider.play(async function* () {
      for (; piece < 50; piece += 1) yield [{ type: 'text', delta: 'x'.repeat(300_000) }];
      yield [COUNTED, { type: 'finish', reason: 'stop' }];
    });
    stream.pause();
    client.create({ input: 'Hi', store: false });
    // The turn is held back when the model is asked for nothing in many turns of the event loop.
    for (let last = -1; last !== piece;) {
      last = piece;
      for (let count = 0; count < 2000; count += 1) await nextLoopTurn();
    }
    expect(piece).toBeLessThan(50);
    for (let ping = 0; ping < 4000; ping += 1) client.socket.ping(Buffer.alloc(125));
    client.create({ stream_id: 'behind', input: 'Hi', store: false });
    while (provider.turns.length < 2) await nextLoopTurn();
    stream.resume();
    await expect(client.finish()).resolves.toMatchObject(isCompleted);
    await expect(client.finish('behind')).resolves.toMatchObject(isCompleted);
  });

  describe('a client that reads as fast as it can', () => {
    it.each(['x', '語'])('a client that reads as fast as it can gets a long answer of %s', async (character) => {
      const client = await start();
      const delta = character.repeat((9 * MEGABYTE) / Buffer.byteLength(character) / 3);
      provider.reply(...[1, 2, 3].map(() => ({ type: 'text', delta }) as const), COUNTED);
      const { response } = await client.turn({ input: 'Hi', store: false });
      expect(response).toMatchObject({ output: [{ content: [{ text: delta.repeat(3) }] }] });
    });

    it('a client that reads as fast as it can gets what two lanes with large requests say at once', async () => {
      const client = await start();
      const instructions = 'x'.repeat(9 * MEGABYTE);
      const lanes = ['a', 'b'];
      for (const _ of lanes) provider.reply({ type: 'text', delta: 'Hi' }, COUNTED);
      for (const stream_id of lanes) client.create({ stream_id, input: 'Hi', instructions, store: false });
      for (const lane of lanes) await expect(client.finish(lane)).resolves.toMatchObject(isCompleted);
    });
  });
});
