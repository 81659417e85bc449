import { connect, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { framesOf, IN_BACKGROUND, replay, restAfter, whenEnded } from '../support/background.js';
import { useService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import { ONE_STATE, startServiceIn } from '../support/state-backends.js';

/** How many read and how many do not, and how much there is to read: more than the kernel buffers, or little. */
const AUDIENCES = [
  { readers: 40, sleepers: 10, pieces: 30, characters: 1000 },
  { readers: 3, sleepers: 3, pieces: 128, characters: 64 * 1024 },
] as const;

describe.each(ONE_STATE)('many readers of one stream in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  const sockets: Socket[] = [];

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** Asks for the stream and reads nothing of it. */
  const sleep = (id: string): Socket => {
    const socket = connect(service.port, '127.0.0.1').pause();
    socket.on('error', () => undefined);
    socket.write(`GET /v1/responses/${id}?stream=true HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    sockets.push(socket);
    return socket;
  };

  it.each(AUDIENCES)('$readers get all of it while $sleepers do not read', async (audience) => {
    const delta = 'x'.repeat(audience.characters);
    const goOn = Promise.withResolvers<undefined>();
    service.provider.play(async function* () {
      await goOn.promise;
      for (let piece = 0; piece < audience.pieces; piece += 1) yield [{ type: 'text', delta }];
      yield [{ type: 'finish', reason: 'stop' }];
    });
    const raw = new RawClient(service.port);
    const creator = await raw.stream({ ...IN_BACKGROUND });
    const id = /resp_\w+/.exec(await creator.until('response.in_progress'))?.[0] ?? '';
    const sleepers = Array.from({ length: audience.sleepers }, () => sleep(id));
    const readers = Array.from({ length: audience.readers }, (_, after) => ({
      after,
      text: replay(service, id, `&starting_after=${after}&include_obfuscation=false`),
    }));
    goOn.resolve(undefined);
    const text = await creator.whole;
    expect(await whenEnded(service, id)).toMatchObject({ status: 'completed' });
    raw.close();
    expect(framesOf(text).length).toBeGreaterThan(audience.pieces);
    const frames = framesOf(text.replaceAll(/,"obfuscation":"\w*"/g, ''));
    for (const { after, text: read } of readers) {
      // Not compared by the matcher, which would print megabytes.
      expect((await read) === restAfter(frames, after)).toBe(true);
    }

    // One that did not read finds everything when it begins to.
    const [late] = sleepers;
    let received = '';
    for await (const chunk of late?.setEncoding('utf8') ?? []) received += chunk as string;
    expect(received.length).toBeGreaterThan(framesOf(text).join('').length);
    expect(received).toContain('data: [DONE]');
  });
});
