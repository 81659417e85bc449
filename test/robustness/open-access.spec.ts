import { once } from 'node:events';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { findErrorFault } from '../support/raw-checks.js';
import { RawClient } from '../support/raw-client.js';
import { openSocket } from '../support/raw-socket.js';
import { type Service, startService } from '../support/service.js';

const GOOD = '{"model":"gpt-4.1","input":"Hi","max_output_tokens":16}';

let service: Service;
let client: RawClient;

async function start(environment?: Readonly<Record<string, string>>): Promise<void> {
  service = await startService({ environment: environment ?? {} });
  client = new RawClient(service.port);
}

async function stop(): Promise<void> {
  client.close();
  await service.close();
}

describe('a service without keys', () => {
  beforeAll(() => start());
  afterAll(stop);

  it.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.0.0.2', '[::1]', 'antiphon.localhost', 'localhost:1'])(
    'a service without keys answers under a name of this machine: %s',
    async (host) => {
      expect((await client.post(GOOD, { host })).status).toBe(200);
    },
  );

  it.each([
    'evil.example.com',
    'evil.example.com:80',
    'localhost.evil.example.com',
    '127.0.0.1.evil.example.com',
    '127.0.0.1.nip.io',
    'notlocalhost',
    'localhost@evil.example.com',
    'evil.example.com#localhost',
    '192.168.0.1',
    '0.0.0.0',
    '[::]',
    '[::ffff:10.0.0.1]',
  ])('a service without keys refuses a name that a page may have rebound to it: "%s"', async (host) => {
    for (const request of [
      { method: 'POST', path: '/v1/responses', body: GOOD },
      { method: 'GET', path: '/v1/responses/resp_1' },
      { method: 'GET', path: '/openai/v1/models' },
    ]) {
      const { status, text } = await client.send({ ...request, headers: { host, 'content-type': 'application/json' } });
      expect(status).toBe(403);
      expect(findErrorFault(text)).toBeUndefined();
      expect(JSON.parse(text)).toMatchObject({ error: { code: 'forbidden_host' } });
    }
  });

  it.each(['https://evil.example.com', 'http://localhost:1', 'http://127.0.0.1', 'null', 'file://', '', 'x'])(
    'a service without keys refuses a page of another origin: "%s"',
    async (origin) => {
      const { status, headers, text } = await client.post(GOOD, { origin });
      expect(status).toBe(403);
      expect(headers['access-control-allow-origin']).toBeUndefined();
      expect(findErrorFault(text)).toBeUndefined();
      expect(JSON.parse(text)).toMatchObject({ error: { code: 'forbidden_origin' } });
    },
  );

  it('a service without keys answers a page of its own origin', async () => {
    const { port } = service;
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LocalHost:${port}`]) {
      const answer = await client.post(GOOD, { host, origin: `http://${host.toLowerCase()}` });
      expect(answer.status).toBe(200);
    }
  });

  it('a service without keys refuses a page before its body is there', async () => {
    const socket = await openSocket(service.port);
    socket.write(
      'POST /v1/responses HTTP/1.1\r\nhost: localhost\r\norigin: https://evil.example.com\r\n' +
        `content-type: application/json\r\ncontent-length: ${50 * 1024 * 1024}\r\n\r\n`,
    );
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1\.1 403 /);
    socket.destroy();
  });

  it('a service without keys gives no page permission to call it', async () => {
    const { status, headers } = await client.send({
      method: 'OPTIONS',
      path: '/v1/responses',
      headers: { origin: 'https://evil.example.com', 'access-control-request-method': 'POST' },
    });
    expect(status).toBe(204);
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });
});

describe('a service without keys whose operator allows more', () => {
  afterEach(stop);

  it('a service answers the pages of CORS_ORIGINS, and no others', async () => {
    await start({ CORS_ORIGINS: 'https://app.example.com' });
    const allowed = await client.post(GOOD, { origin: 'https://app.example.com' });
    expect(allowed.status).toBe(200);
    expect(allowed.headers['access-control-allow-origin']).toBe('https://app.example.com');
    const other = await client.post(GOOD, { origin: 'https://evil.example.com' });
    expect(other.status).toBe(403);
    const rebound = await client.post(GOOD, { host: 'app.example.com', origin: 'https://app.example.com' });
    expect(rebound.status).toBe(403);
  });

  it('a service answers under any name on a public address, but no page of another origin', async () => {
    await start({ ALLOW_OPEN: 'true', HOST: '0.0.0.0' });
    const host = 'antiphon.example.com';
    expect((await client.post(GOOD, { host })).status).toBe(200);
    expect((await client.post(GOOD, { host, origin: `http://${host}` })).status).toBe(200);
    expect((await client.post(GOOD, { host, origin: 'https://evil.example.com' })).status).toBe(403);
  });

  it('a service without keys refuses rebound names as long as the address is one of this machine', async () => {
    await start({ ALLOW_OPEN: 'true' });
    expect((await client.post(GOOD, { host: 'evil.example.com' })).status).toBe(403);
  });
});
