import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';

import { freePort } from '../../../../test/support/ports.js';
import { whenStill } from '../../../../test/support/chat-upstream/when-still.js';
import { ANSWERING, closePools, LIMITS, withPool } from '../../../../test/support/responses-transport/with-pool.js';
import type { UpstreamError } from '../upstream-error.js';
import { AnswerRefusedError } from './exchange.js';

afterEach(closePools);

describe('a handshake', () => {
  it.each([
    [426, 'Upgrade Required', ''],
    [503, 'Busy', '{"error":{"message":"busy"}}'],
  ])('a handshake that is refused with %d is reported with headers and text (§4.1)', async (status, words, text) => {
    const { tryTake, pool, clock } = await withPool({
      onUpgrade: (_request, transport) => {
        transport.end(`HTTP/1.1 ${status} ${words}\r\nretry-after: 3\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
      },
    });
    const refused = await tryTake('c').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(AnswerRefusedError);
    expect(refused).toMatchObject({ status, headers: { 'retry-after': '3' }, text });
    expect(pool.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('a handshake that is refused at length is read up to 64 KB', async () => {
    const { tryTake } = await withPool({
      onUpgrade: (_request, transport) => {
        transport.write(`HTTP/1.1 500 No\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(100_000)}`);
      },
    });
    await expect(tryTake('c')).rejects.toMatchObject({ status: 500, text: 'x'.repeat(65_536) });
  });

  it.each<readonly [what: string, onUpgrade: (request: IncomingMessage, transport: Socket) => void, message: string]>([
    ['is not answered', () => undefined, 'the WebSocket handshake took more than 15000 ms'],
    [
      'is refused without an end',
      (_request, transport) => transport.write('HTTP/1.1 500 No\r\ncontent-length: 9\r\n\r\n'),
      'the WebSocket handshake took more than 15000 ms',
    ],
  ])('a handshake that %s ends in time', async (_what, onUpgrade, message) => {
    const asked = Promise.withResolvers<undefined>();
    const { tryTake, clock, pool } = await withPool({
      onUpgrade: (request, transport) => {
        onUpgrade(request, transport);
        asked.resolve(undefined);
      },
    });
    const taking = expect(tryTake('c')).rejects.toMatchObject({ name: 'UpstreamError', message, remedy: 'retry' });
    await asked.promise;
    await whenStill(() => 0);
    clock.advance(LIMITS.connectTimeoutMs);
    await taking;
    expect(pool.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('a handshake that breaks, or is no WebSocket handshake, is reported', async () => {
    for (const answer of ['', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n']) {
      const { tryTake, clock } = await withPool({ onUpgrade: (_request, transport) => transport.end(answer) });
      await expect(tryTake('c')).rejects.toMatchObject({ name: 'UpstreamError', remedy: 'retry' });
      expect(clock.pending).toBe(0);
    }
  });

  it('a handshake to a port without a server says that it cannot be reached', async () => {
    const { tryTake, clock } = await withPool(ANSWERING, { port: await freePort() });
    const error = (await tryTake('c').catch((reason: unknown) => reason)) as UpstreamError;
    expect(error.options).toMatchObject({ remedy: 'retry', isUnreachable: true });
    expect(clock.pending).toBe(0);
  });

  it.each(['signal', 'destroy'])('a handshake ends at once by its %s', async (way) => {
    const asked = Promise.withResolvers<{ readonly whenEnded: Promise<unknown> }>();
    const { tryTake, pool, controller, clock } = await withPool({
      onUpgrade: (_request, transport) => asked.resolve({ whenEnded: once(transport.resume(), 'end') }),
    });
    const taking = expect(tryTake('c')).rejects.toThrow(way === 'signal' ? 'stopped' : 'the connection was closed');
    const { whenEnded } = await asked.promise;
    if (way === 'signal') controller.abort(new Error('stopped'));
    else await pool.destroy();
    await taking;
    await whenEnded;
    expect(pool.size).toBe(0);
    expect(clock.pending).toBe(0);
    if (way === 'signal') await expect(tryTake('c')).rejects.toThrow('stopped');
  });
});
