import { describe, expect, it } from '@jest/globals';
import type { ClientOptions } from 'ws';

import { ScriptedProvider } from '../../src/testing/index.js';
import { RawSocketClient } from '../support/connection-raw.js';
import { useServices } from '../support/describe-service.js';
import type { Service } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';

const DEFLATE: ClientOptions = { perMessageDeflate: { threshold: 0 } };
const PLAIN: ClientOptions = { perMessageDeflate: false };

describe('compression', () => {
  /** Compresses to little, and every event of the end holds it. */
  const LONG = 'Lorem ipsum dolor sit amet. '.repeat(4000);

  const serviceOf = useServices({ providers: [ScriptedProvider] });

  const bytesOf = async (service: Service, client: SocketClient): Promise<number> => {
    service.app.get(ScriptedProvider).reply({ type: 'text', delta: LONG });
    const { response } = await client.turn({ input: 'Tell me.' });
    expect(response).toMatchObject({ status: 'completed', output: [{ content: [{ text: LONG }] }] });
    return (client.socket as unknown as { readonly _socket: { readonly bytesRead: number } })._socket.bytesRead;
  };

  it('compression is used when the client offers it', async () => {
    const service = await serviceOf({});
    await using client = await SocketClient.open(service, DEFLATE);
    expect(client.socket.extensions).toBe('permessage-deflate');
    expect(await bytesOf(service, client)).toBeLessThan(LONG.length);
    // What was sent before makes the next one no harder to read.
    for (const input of ['short', LONG]) {
      expect((await client.turn({ input })).response.status).toBe('completed');
    }
  });

  it('compression is not used when the client does not offer it', async () => {
    const service = await serviceOf({ WS_COMPRESSION: 'true' });
    await using client = await SocketClient.open(service, PLAIN);
    expect(client.socket.extensions).toBe('');
    expect(await bytesOf(service, client)).toBeGreaterThan(4 * LONG.length);
  });

  it('compression is not used with WS_COMPRESSION=false', async () => {
    const service = await serviceOf({ WS_COMPRESSION: 'false' });
    await using client = await SocketClient.open(service, DEFLATE);
    expect(client.socket.extensions).toBe('');
    expect(await bytesOf(service, client)).toBeGreaterThan(4 * LONG.length);
  });

  it.each([
    ['permessage-deflate', /^permessage-deflate(?:;|$)/],
    ['permessage-deflate; client_max_window_bits', /^permessage-deflate(?:;|$)/],
    [
      'permessage-deflate; server_no_context_takeover; client_no_context_takeover',
      /server_no_context_takeover.*client_no_context_takeover/,
    ],
    ['permessage-deflate; server_max_window_bits=15', /server_max_window_bits=1[0-5]/],
    ['permessage-deflate; server_max_window_bits=10, permessage-deflate', /^permessage-deflate(?:;|$)/],
    ['x-unknown, permessage-deflate', /^permessage-deflate(?:;|$)/],
    ['permessage-deflate; server_max_window_bits=7, permessage-deflate', /^permessage-deflate$/],
    ['permessage-deflate; x=1, permessage-deflate; server_max_window_bits="10"', /server_max_window_bits=10/],
    ['permessage-deflate; client_max_window_bits; client_max_window_bits, permessage-deflate', /^permessage-deflate$/],
    ['permessage-deflate; =, permessage-deflate', /^permessage-deflate$/],
  ])('compression is agreed on as offered: %s', async (offer, agreed) => {
    const service = await serviceOf({});
    using client = await RawSocketClient.open(service, { headers: { 'sec-websocket-extensions': offer } });
    const answer = /^sec-websocket-extensions: (.*)$/im.exec(client.head)?.[1];
    expect(answer).toMatch(agreed);
    // A client that did not offer it cannot be told to use a smaller window (RFC 7692 section 7.1.2.2).
    if (!offer.includes('client_max_window_bits')) expect(answer).not.toContain('client_max_window_bits');
  });

  it.each(['permessage-deflate; server_max_window_bits=16', 'permessage-deflate; server_no_context_takeover=1', ';;,'])(
    'compression is declined where every offer is invalid, and the socket opens all the same: %s',
    async (offer) => {
      const service = await serviceOf({});
      using client = await RawSocketClient.open(service, { headers: { 'sec-websocket-extensions': offer } });
      expect(client.head).toMatch(/^HTTP\/1\.1 101 /);
      expect(client.head).not.toMatch(/^sec-websocket-extensions:/im);
    },
  );

  it('compression is left out where it cannot be agreed on, and the socket opens all the same', async () => {
    const service = await serviceOf({});
    const offer = 'permessage-deflate; server_max_window_bits=9';
    using client = await RawSocketClient.open(service, { headers: { 'sec-websocket-extensions': offer } });
    const [, answer = 'server_max_window_bits=9'] = /^sec-websocket-extensions: (.*)$/im.exec(client.head) ?? [];
    expect(answer).toMatch(/server_max_window_bits=[89]\b/);
  });

  it('compression keeps frames in order, short and long ones of several lanes', async () => {
    const service = await serviceOf({});
    await using client = await SocketClient.open(service, DEFLATE);
    const provider = service.app.get(ScriptedProvider);
    const deltas = Array.from({ length: 200 }, (_, index) => `${index} ${'x'.repeat(index % 3 === 0 ? 5000 : 5)}`);
    const lanes = ['a', 'b', 'c'];
    for (const _lane of lanes) {
      provider.play(async function* () {
        for (const delta of deltas) yield await Promise.resolve({ type: 'text' as const, delta });
        yield { type: 'finish', reason: 'stop' };
      });
    }
    for (const lane of lanes) client.create({ stream_id: lane, input: 'Go on.' });
    for (const lane of lanes) {
      // The checker of the client looks at sequence numbers and at what the deltas add up to.
      const { response } = await client.finish(lane);
      expect(response).toMatchObject({ output: [{ content: [{ text: deltas.join('') }] }] });
    }
  });
});
