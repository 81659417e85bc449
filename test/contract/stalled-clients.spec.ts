import { connect, type Socket } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { OpenReplies } from '../../src/operations/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { whenStill } from '../support/chat-upstream/when-still.js';
import { useFreshService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { startService } from '../support/service.js';
import { WatchedClock } from '../support/clocks.js';

const MEGABYTE = 1024 * 1024;

/** More than the buffers of the kernel on both sides hold. */
const LARGE = 'x'.repeat(MEGABYTE);

const LIMIT_MS = 16_000;
/** How often the service looks. */
const LOOK_MS = LIMIT_MS / 16;

describe('a client that does not read its answer', () => {
  let observer: RecordingObserver;
  let clock: WatchedClock;
  let socket: Socket;

  // Before it closes.
  afterEach(() => {
    socket.destroy();
    clock.letGo();
  });
  const service = useFreshService(async () => {
    observer = new RecordingObserver();
    clock = new WatchedClock();
    return startService({
      environment: { CLIENT_STALL_TIMEOUT_MS: LIMIT_MS, MAX_OUTPUT_CHARACTERS: 100 * MEGABYTE },
      providers: [ScriptedProvider],
      imports: [observer.asModule()],
      overrides: [[Clock, clock]],
    });
  });

  /** Sends a turn and never reads a byte of what comes back. Returns the service's side of the connection. */
  async function ask(stream: boolean): Promise<Socket> {
    const accepted = new Promise<Socket>((resolve) => service.app.getHttpServer().once('connection', resolve));
    socket = connect(service.port, '127.0.0.1').pause();
    socket.on('error', () => undefined);
    const body = JSON.stringify({ model: 'm', input: 'hi', stream });
    socket.write(
      `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    return accepted;
  }

  /** Resolves when the kernel takes nothing more of what is pending. */
  async function whenStuck(side: Socket): Promise<void> {
    const handle = (side as unknown as { readonly _handle: { readonly writeQueueSize: number } })._handle;
    do await whenStill(() => handle.writeQueueSize);
    while (handle.writeQueueSize === 0);
  }

  /** The client may read nothing for the limit, and not for longer than another look. */
  async function expectCutOff(side: Socket): Promise<void> {
    await whenStuck(side);
    clock.advance(LIMIT_MS);
    expect(side.destroyed).toBe(false);
    clock.advance(LOOK_MS);
    expect(side.destroyed).toBe(true);
    await service.app.get(OpenReplies).allClosed();
    await observer.whenSettled(1);
  }

  /** A model that says more than fits, again and again. */
  function sayMuch(): Promise<undefined> {
    const stopped = Promise.withResolvers<undefined>();
    service.provider.play(async function* (_turn, { signal }) {
      signal.addEventListener('abort', () => stopped.resolve(undefined));
      for (;;) yield await Promise.resolve({ type: 'text' as const, delta: LARGE });
    });
    return stopped.promise;
  }

  it('a client that does not read its answer is cut off on a stream after CLIENT_STALL_TIMEOUT_MS, and its model is stopped', async () => {
    const stopped = sayMuch();
    await expectCutOff(await ask(true));
    await stopped;
    await expect(observer.whenSettled(1)).resolves.toMatchObject([{ status: 'disconnected' }]);
  });

  it('a client that does not read its answer is cut off after the same time when its answer is one large body', async () => {
    const parts = Array.from({ length: 40 }, () => ({ type: 'text' as const, delta: LARGE }));
    service.provider.reply(...parts, { type: 'usage', input: 1, output: 1 });
    const side = await ask(false);
    await expect(observer.whenSettled(1)).resolves.toMatchObject([{ status: 'completed' }]);
    await expectCutOff(side);
  });

  it('a client that does not read its answer has all of the time again when it has read something', async () => {
    void sayMuch();
    const side = await ask(true);
    await whenStuck(side);
    clock.advance(LIMIT_MS);
    const before = side.bytesWritten;
    socket.resume();
    while (side.bytesWritten < before + MEGABYTE) await nextLoopTurn();
    socket.pause();
    await expectCutOff(side);
  });

  it('a client that does not read its answer is not cut off while the model is silent', async () => {
    const begun = Promise.withResolvers<undefined>();
    const goOn = Promise.withResolvers<undefined>();
    service.provider.play(async function* () {
      yield { type: 'text', delta: 'early, ' };
      begun.resolve(undefined);
      await goOn.promise;
      yield [
        { type: 'text', delta: 'late' },
        { type: 'finish', reason: 'stop' },
      ];
    });
    const stream = await service.client().responses.create({ model: 'm', input: 'hi', stream: true });
    await begun.promise;
    clock.advance(3 * LIMIT_MS);
    goOn.resolve(undefined);
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types.at(-1)).toBe('response.completed');
  });
});
