import { once } from 'node:events';
import type { Socket } from 'node:net';

import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { useService } from '../support/describe-service.js';
import { openSocket, receiveAll } from '../support/raw-socket.js';
import { type Service, startService } from '../support/service.js';

const GOOD = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n';
const TUNNEL = 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n';
const POST = 'POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';
/** More than the buffers of a connection have room for. */
const UNREAD_BYTES = 40_000_000;

/** Asks for a long file on a connection, of which nothing is read yet. */
async function askUnread({ baseURL, port }: Service): Promise<Socket> {
  const api = new ApiClient(baseURL);
  const form = new FormData();
  form.set('purpose', 'user_data');
  form.set('file', new Blob([new Uint8Array(UNREAD_BYTES)]), 'a.bin');
  const { body } = await api.send('POST', 'files', form);
  const socket = (await openSocket(port)).pause();
  socket.write(`GET /v1/files/${String(body['id'])}/content HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  await api.get('models');
  return socket;
}

describe('a request with one for a tunnel behind it', () => {
  const service = useService({ providers: [ScriptedProvider] });

  it('a request with one for a tunnel behind it is answered in whole, however slowly its client reads', async () => {
    const socket = await askUnread(service);
    socket.write(`${GOOD}${GOOD}${TUNNEL}`);
    await service.api.get('models');
    const all = receiveAll(socket);
    socket.resume();
    const received = await all;
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual([...Array<string>(3).fill('HTTP/1.1 200'), 'HTTP/1.1 405']);
    expect(received.length).toBeGreaterThan(UNREAD_BYTES);
  });

  it('a request with one for a tunnel behind it does not keep the service from ending', async () => {
    const ending = await startService();
    const socket = await askUnread(ending);
    socket.write(TUNNEL);
    await fetch(`${ending.origin}/healthz`);
    await ending.close();
    socket.destroy();
  });

  it('a request with one for a tunnel behind it ends with its client, and so does one between them', async () => {
    const untilRead = (): Promise<unknown> => service.api.get('/healthz');
    let [begun, ended] = [0, 0];
    for (let turn = 0; turn < 2; turn += 1) {
      service.provider.play(async function* (_, { signal }) {
        begun += 1;
        try {
          yield [{ type: 'text', delta: 'Hello' }];
          await once(signal, 'abort');
        } finally {
          ended += 1;
        }
      });
    }
    const socket = await openSocket(service.port);
    const body = JSON.stringify({ model: 'm', input: 'hi', stream: true });
    socket.write(`${POST}content-length: ${body.length}\r\n\r\n${body}`.repeat(2));
    while (begun < 2) await untilRead();
    socket.write(TUNNEL);
    await untilRead();
    socket.destroy();
    while (ended < 2) await untilRead();
    expect(ended).toBe(2);
  });
});
