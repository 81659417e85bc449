import { createHash } from 'node:crypto';
import { once } from 'node:events';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { findErrorFault } from '../support/raw-checks.js';
import { type RawAnswer, RawClient } from '../support/raw-client.js';
import { openSocket } from '../support/raw-socket.js';
import { startService } from '../support/service.js';

const [PLAIN, SECOND, HASHED] = ['plain-Key-1', 'second-key-2', 'hashed-key-3'];
const digestOf = (key: string): string => createHash('sha256').update(key).digest('hex');
const API_KEYS = `alpha:${PLAIN}, alpha:${SECOND} ,beta:sha256:${digestOf(HASHED).toUpperCase()}`;
const GOOD = '{"model":"gpt-4.1","input":"Hi","max_output_tokens":16}';
const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` });
let client: RawClient;

// Before it closes.
afterAll(() => client.close());
const service = useService({ environment: { API_KEYS } });

beforeAll(() => {
  client = new RawClient(service.port);
});

function expectUnauthorized({ status, headers, text }: RawAnswer, code: string | null): void {
  expect(status).toBe(401);
  expect(headers).toMatchObject({
    'www-authenticate': 'Bearer',
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': expect.stringMatching(/^req_/),
  });
  expect(findErrorFault(text)).toBeUndefined();
  expect(JSON.parse(text)).toMatchObject({ error: { type: 'invalid_request_error', param: null, code } });
  for (const key of [PLAIN, SECOND, HASHED, digestOf(HASHED)]) {
    expect((JSON.stringify(headers) + text).toLowerCase()).not.toContain(key.toLowerCase());
  }
}

describe('a key', () => {
  it.each([PLAIN, SECOND, HASHED])('a request with a right key is answered: %s', async (key) => {
    expect((await client.post(GOOD, bearer(key))).status).toBe(200);
  });

  it.each([`bearer ${PLAIN}`, `BEARER ${PLAIN}`, `Bearer   ${PLAIN}`, `Bearer ${PLAIN}  `])(
    'a key opens however it is written: "%s"',
    async (authorization) => {
      expect((await client.post(GOOD, { authorization })).status).toBe(200);
    },
  );

  it.each([
    ['upper case', PLAIN.toUpperCase()],
    ['a part of a key', PLAIN.slice(0, -1)],
    ['more than a key', `${PLAIN}x`],
    ['a key with its tenant', `alpha:${PLAIN}`],
    ['the digest of a key', digestOf(HASHED)],
    ['the entry of a key', `sha256:${digestOf(HASHED)}`],
    ['a quoted key', `"${PLAIN}"`],
    ['two keys', `${PLAIN},${SECOND}`],
    ['40 kB less', 'x'.repeat(8000)],
    ['what is no word', '__proto__'],
  ])('a key does not open when it is %s', async (_name, key) => {
    expectUnauthorized(await client.post(GOOD, bearer(key)), 'invalid_api_key');
  });

  it.each([
    ['nothing', {}],
    ['an empty header', { authorization: '' }],
    ['no key', { authorization: 'Bearer' }],
    ['no key but a blank', { authorization: 'Bearer ' }],
    ['no scheme', { authorization: PLAIN }],
    ['no blank', { authorization: `Bearer${PLAIN}` }],
    ['two words', { authorization: `Bearer ${PLAIN} ${PLAIN}` }],
    ['a tab', { authorization: `Bearer\t${PLAIN}` }],
    ['another scheme', { authorization: `Basic ${Buffer.from(`alpha:${PLAIN}`).toString('base64')}` }],
    ['another header', { 'api-key': PLAIN, 'x-goog-api-key': PLAIN, cookie: `authorization=Bearer ${PLAIN}` }],
  ])('a key is missed when there is %s', async (_name, headers) => {
    expectUnauthorized(await client.post(GOOD, headers), null);
  });

  it('a key shows the responses of its tenant only', async () => {
    const { id } = JSON.parse((await client.post(GOOD, bearer(PLAIN))).text) as { id: string };
    for (const path of [`/v1/responses/${id}`, `/v1/responses/${id}/input_items`]) {
      expect((await client.send({ path, headers: bearer(SECOND) })).status).toBe(200);
      const foreign = await client.send({ path, headers: bearer(HASHED) });
      const unknown = await client.send({ path: path.replace(id, 'resp_unknown'), headers: bearer(HASHED) });
      expect(foreign.status).toBe(404);
      expect(foreign.text.replace(id, 'resp_unknown')).toBe(unknown.text);
    }
    const continued = GOOD.replace('{', `{"previous_response_id":"${id}",`);
    expect((await client.post(continued, bearer(HASHED))).status).toBe(400);
    expect((await client.post(continued, bearer(SECOND))).status).toBe(200);
  });
});

describe('a stranger', () => {
  const OF_A_RESPONSE = ['', '/input_items', '/cancel', '/children', '/siblings', '/leaves', '/tree'];
  const OF_A_SESSION = ['', '/responses', '/fork'];
  const ROUTES = [
    '/responses',
    ...OF_A_RESPONSE.map((route) => `/responses/resp_1${route}`),
    ...OF_A_SESSION.map((route) => `/sessions/mine${route}`),
    '/models',
    '/models/gpt-5',
    '/nowhere',
  ];
  const PATHS = ['/v1', '/openai/v1'].flatMap((prefix) => ROUTES.map((route) => prefix + route));

  it.each([...PATHS, '/v1/%72esponses', '/v1/models?x=1'])(
    'a stranger learns nothing at %s, and may ask for its methods',
    async (path) => {
      for (const method of ['GET', 'POST', 'DELETE', 'PATCH']) {
        const body = method === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, body: '{"model":' };
        expectUnauthorized(await client.send({ method, path, ...body }), null);
      }
      const head = await client.send({ method: 'HEAD', path });
      expect(head).toMatchObject({ status: 401, text: '' });
      const options = await client.send({ method: 'OPTIONS', path });
      expect([204, 404]).toContain(options.status);
      if (options.status === 204) {
        expect(options.text).toBe('');
        expect(options.headers.allow).toMatch(/^(?:GET, HEAD|(?:GET, HEAD, )?(?:POST|DELETE)), OPTIONS$/);
      }
    },
  );

  it.each(['/%761/responses', '/v%31/responses', '/openai/%761/responses', '/%6fpenai/v1/responses'])(
    'a stranger does not get in by another spelling: %s',
    async (path) => {
      const headers = { 'content-type': 'application/json' };
      expectUnauthorized(await client.send({ method: 'POST', path, headers, body: GOOD }), null);
    },
  );

  it('a stranger is told the methods of a response whether or not it exists', async () => {
    const { id } = JSON.parse((await client.post(GOOD, bearer(PLAIN))).text) as { id: string };
    const ask = async (name: string): Promise<unknown> => {
      const { status, headers } = await client.send({ method: 'OPTIONS', path: `/v1/responses/${name}` });
      return { status, names: Object.keys(headers), allow: headers.allow };
    };
    expect(await ask(id)).toEqual(await ask('resp_unknown'));
  });

  it('a stranger may ask how the service is', async () => {
    for (const [path, text] of [
      ['/healthz', '{"status":"ok"}'],
      ['/readyz', '{"status":"ready"}'],
    ] as const) {
      const headers = { host: 'balancer.example.com', origin: 'https://page.example.com' };
      expect(await client.send({ path, headers })).toMatchObject({ status: 200, text });
      expect(await client.send({ method: 'HEAD', path })).toMatchObject({ status: 200, text: '' });
    }
  });

  it.each([
    ['a wrong key', 'authorization: Bearer wrong\r\n'],
    ['no key', ''],
    ['a wrong key that asks before it sends', 'authorization: Bearer wrong\r\nexpect: 100-continue\r\n'],
  ])('a stranger is refused before the body is there: %s', async (_name, header) => {
    const socket = await openSocket(service.port);
    socket.write(
      `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${header}` +
        `content-length: ${50 * 1024 * 1024}\r\n\r\n`,
    );
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 401 /);
    socket.destroy();
  });
});

describe('web pages where there are keys', () => {
  const PREFLIGHT = {
    method: 'OPTIONS',
    path: '/v1/responses',
    headers: {
      origin: 'https://app.example.com',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
    },
  };

  it('web pages get no permission unless there are CORS_ORIGINS', async () => {
    const { status, headers } = await client.send(PREFLIGHT);
    expect(status).toBe(204);
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });

  it.each([
    ['https://other.example.com, https://app.example.com', 'https://app.example.com'],
    ['*', '*'],
  ])('web pages may call a service with keys when CORS_ORIGINS is %s', async (CORS_ORIGINS, allowed) => {
    await using open = await startService({ environment: { API_KEYS, CORS_ORIGINS } });
    const page = new RawClient(open.port);
    const preflight = await page.send(PREFLIGHT);
    expect(preflight.status).toBeLessThan(300);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': allowed,
      'access-control-allow-methods': expect.stringMatching(/POST/),
      'access-control-allow-headers': expect.stringMatching(/authorization.*x-stainless-lang/),
    });
    const { origin } = PREFLIGHT.headers;
    const right = await page.post(GOOD, { origin, ...bearer(PLAIN) });
    const wrong = await page.post(GOOD, { origin, ...bearer('wrong') });
    const stream = await page.stream({}, { origin, ...bearer(PLAIN) });
    for (const { headers } of [right, wrong, stream]) {
      expect(headers['access-control-allow-origin']).toBe(allowed);
      expect(headers['access-control-expose-headers']).toMatch(/x-request-id.*retry-after/);
    }
    expect([right.status, wrong.status, stream.status]).toEqual([200, 401, 200]);
    await stream.whole;
    page.close();
  });

  it('web pages of other origins get no permission', async () => {
    const environment = { API_KEYS, CORS_ORIGINS: 'https://app.example.com' };
    await using open = await startService({ environment });
    const page = new RawClient(open.port);
    for (const origin of [
      'https://evil.example.com',
      'http://app.example.com',
      'https://app.example.com:444',
      'null',
    ]) {
      const { headers } = await page.send({ ...PREFLIGHT, headers: { ...PREFLIGHT.headers, origin } });
      expect(headers['access-control-allow-origin']).not.toBe(origin);
      expect(headers['access-control-allow-origin']).not.toBe('*');
    }
    page.close();
  });
});
