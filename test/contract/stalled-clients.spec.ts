import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';

import { OpenReplies } from '../../src/operations/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useFreshService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { startService } from '../support/service.js';

const MEGABYTE = 1024 * 1024;

/** More than the buffers of the kernel on both sides hold. */
const LARGE = 'x'.repeat(MEGABYTE);

describe('a client that does not read its answer', () => {
  let observer: RecordingObserver;
  let socket: Socket;

  // Before it closes.
  afterEach(() => void socket.destroy());
  const service = useFreshService(async () => {
    observer = new RecordingObserver();
    return startService({
      environment: { CLIENT_STALL_TIMEOUT_MS: 300, SSE_KEEPALIVE_MS: 100, MAX_OUTPUT_CHARACTERS: 100 * MEGABYTE },
      providers: [ScriptedProvider],
      imports: [observer.asModule()],
    });
  });

  /** Sends a turn and never reads a byte of what comes back. */
  async function ask(stream: boolean): Promise<void> {
    socket = connect(service.port, '127.0.0.1').pause();
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    const body = JSON.stringify({ model: 'm', input: 'hi', stream });
    socket.write(
      `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  }

  it('is cut off on a stream, and its model is stopped', async () => {
    const stopped = Promise.withResolvers<undefined>();
    service.app.get(ScriptedProvider).play(async function* (_turn, { signal }) {
      signal.addEventListener('abort', () => stopped.resolve(undefined));
      for (let count = 0; count < 60; count += 1) yield await Promise.resolve({ type: 'text' as const, delta: LARGE });
      yield { type: 'finish', reason: 'stop' };
    });
    await ask(true);
    await stopped.promise;
    await expect(observer.whenSettled(1)).resolves.toMatchObject([{ status: 'disconnected' }]);
    await service.app.get(OpenReplies).allClosed();
  });

  it('is cut off when its answer is one large body', async () => {
    const parts = Array.from({ length: 40 }, () => ({ type: 'text' as const, delta: LARGE }));
    service.app.get(ScriptedProvider).reply(...parts, { type: 'usage', input: 1, output: 1 });
    await ask(false);
    await expect(observer.whenSettled(1)).resolves.toMatchObject([{ status: 'completed' }]);
    await service.app.get(OpenReplies).allClosed();
  });

  it('is not cut off while the model is silent', async () => {
    const goOn = Promise.withResolvers<undefined>();
    service.app.get(ScriptedProvider).play(async function* () {
      await goOn.promise;
      yield [
        { type: 'text', delta: 'late' },
        { type: 'finish', reason: 'stop' },
      ];
    });
    const stream = await service.client().responses.create({ model: 'm', input: 'hi', stream: true });
    let keepalives = 0;
    const types: string[] = [];
    for await (const event of stream) {
      types.push(event.type);
      // Four of them are longer than the time after which a client counts as stalled.
      if ((event.type as string) === 'keepalive' && (keepalives += 1) === 4) goOn.resolve(undefined);
    }
    expect(types.at(-1)).toBe('response.completed');
  });
});
