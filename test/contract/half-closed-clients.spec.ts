import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useFreshService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { WatchedClock } from '../support/clocks.js';

const INTERIM = 'HTTP/1.1 102 Processing\r\n\r\n';
const COMMENT = ':\n\n';

describe('a client that sends FIN behind its request', () => {
  let clock: WatchedClock;
  let socket: Socket;
  let goOn: () => void;
  let aborted: Promise<unknown>;

  // Before it closes.
  afterEach(() => {
    socket.destroy();
    clock.letGo();
  });
  const service = useFreshService(async () => {
    clock = new WatchedClock();
    return startService({ providers: [ScriptedProvider], overrides: [[Clock, clock]] });
  });

  /** The model says `words`, waits for `goOn`, and ends. Resolves once it waits. */
  async function ask(body: object, { words = '', version = '1.1' } = {}): Promise<void> {
    const waiting = Promise.withResolvers<undefined>();
    const end = Promise.withResolvers<undefined>();
    const stop = Promise.withResolvers<undefined>();
    goOn = () => end.resolve(undefined);
    aborted = stop.promise;
    service.app.get(ScriptedProvider).play(async function* (_turn, { signal }) {
      signal.addEventListener('abort', () => stop.resolve(undefined));
      if (words !== '') yield { type: 'text', delta: words };
      waiting.resolve(undefined);
      await Promise.race([end.promise, stop.promise]);
      yield { type: 'text', delta: 'the end' };
      yield { type: 'finish', reason: 'stop' };
    });
    socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    const json = JSON.stringify({ model: 'm', input: 'hi', ...body });
    socket.write(
      `POST /v1/responses HTTP/${version}\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`,
    );
    await waiting.promise;
  }

  /** Reads until a text has come. */
  async function read(wanted: string): Promise<void> {
    for (let seen = ''; !seen.includes(wanted);) seen += String((await once(socket, 'data'))[0]);
  }

  /** Time goes by until the turn is stopped. */
  async function expectStopped(): Promise<void> {
    const stopped = aborted.then(() => true);
    while (!(await Promise.race([stopped, nextLoopTurn(false)]))) clock.advance(100);
  }

  it('a client that sends FIN behind its request gets its answer as JSON, behind interim responses', async () => {
    await ask({});
    socket.end();
    await read(INTERIM);
    goOn();
    expect(await text(socket)).toMatch(/^(?:HTTP\/1\.1 102 Processing\r\n\r\n)*HTTP\/1\.1 200 OK\r\n[^]*the end/);
  });

  it('a client that sends FIN behind its request gets its answer as a stream, with comments', async () => {
    await ask({ stream: true }, { words: 'the beginning' });
    socket.end();
    await read(COMMENT);
    goOn();
    expect(await text(socket)).toMatch(/the end[^]*data: \[DONE\]/);
  });

  it('a client that sends FIN behind its request gets its stream also before it has begun', async () => {
    await ask({ stream: true });
    socket.end();
    goOn();
    expect(await text(socket)).toMatch(/HTTP\/1\.1 200 OK\r\n[^]*data: \[DONE\]/);
  });

  it('a client that sends FIN behind its request gets its answer where FIN comes with the request', async () => {
    const asked = ask({});
    socket.end();
    await asked;
    goOn();
    expect(await text(socket)).toMatch(/HTTP\/1\.1 200 OK\r\n[^]*the end/);
  });

  it.each([
    ['JSON', {}, INTERIM],
    ['a stream', { stream: true }, COMMENT],
  ])(
    'a client that sends FIN behind its request is probed until the answer, and missed once it is gone: %s',
    async (_, body, probe) => {
      await ask(body, { words: probe === COMMENT ? 'x' : '' });
      socket.end();
      await read(probe);
      socket.destroy();
      await expectStopped();
    },
  );

  it('a client that sends FIN behind its request is not told from one that is gone over HTTP/1.0 before its answer', async () => {
    await ask({}, { version: '1.0' });
    socket.end();
    await aborted;
  });

  it('a client that sends FIN behind its request gets its stream over HTTP/1.0 once that has begun', async () => {
    await ask({ stream: true }, { words: 'the beginning', version: '1.0' });
    await read('the beginning');
    socket.end();
    await read(COMMENT);
    goOn();
    expect(await text(socket)).toMatch(/the end[^]*data: \[DONE\]/);
  });
});
