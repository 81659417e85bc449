import { createHmac } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { type ApiAnswer, ApiClient } from '../support/api-client.js';
import { useServices } from '../support/describe-service.js';
import { ServiceLog } from '../support/service-log.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { Issuer, type TokenOptions } from './issuer.js';
import { bearer } from './keys.js';

const clock = new FakeClock();
const shared = useServices({ providers: [ScriptedProvider], overrides: [[Clock, clock]] });
let issuer: Issuer;
/** The one that the test asks. */
let service: Service;

beforeAll(async () => {
  issuer = await Issuer.start();
});

afterAll(() => issuer[Symbol.asyncDispose]());

const environmentOf = (environment: object = {}, { url }: Issuer = issuer): Readonly<Record<string, unknown>> => {
  return { JWT_ISSUER: url, JWT_AUDIENCE: 'antiphon', ...environment };
};

/** Has the test ask a service that all tests with these variables share. */
async function use(environment?: object): Promise<void> {
  service = await shared(environmentOf(environment));
}

/** Has the test ask a service that has not read the keys of its issuer. */
async function start(environment?: object, of?: Issuer): Promise<Service> {
  service = await startService({
    environment: environmentOf(environment, of),
    providers: [ScriptedProvider],
    overrides: [[Clock, clock]],
  });
  return service;
}

function sign(options: Partial<TokenOptions> = {}, of = issuer): Promise<string> {
  return of.sign({ expiresAt: Math.floor(clock.now() / 1000) + 600, ...options });
}

function create(token: string): Promise<ApiAnswer> {
  return new ApiClient(service.baseURL, bearer(token)).post('responses', { model: 'scripted', input: 'Hi' });
}

describe('a JWT', () => {
  it('a JWT admits to its tenant, beside keys', async () => {
    await use({ API_KEYS: 'blue:blue-key' });
    const { status, body } = await create(await sign());
    expect(status).toBe(200);
    const path = `responses/${String(body['id'])}`;
    const api = new ApiClient(service.baseURL, bearer(await sign({ claims: { sub: 'other' } })));
    expect((await api.get(path)).status).toBe(200);
    expect((await api.with(bearer('blue-key')).get(path)).status).toBe(404);
    expect((await create('blue-key')).status).toBe(200);
  });

  it('the service reads the keys of the issuer once, and verifies a token once', async () => {
    await using _service = await start();
    issuer.keyRequests = 0;
    const token = await sign();
    for (let turn = 0; turn < 3; turn++) expect((await create(token)).status).toBe(200);
    expect((await create(await sign({ claims: { sub: 'two' } }))).status).toBe(200);
    expect(issuer.keyRequests).toBe(1);
  });

  it('a JWT ends when it expires, although it is remembered, also on an open socket', async () => {
    await use();
    const token = await sign({ expiresAt: clock.now() / 1000 + 10 });
    await using socket = await SocketClient.open(service, { headers: bearer(token) });
    socket.create({ input: 'Hi' });
    await socket.finish();
    clock.advance(15_000);
    const { status, headers, body } = await create(token);
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    expect(body).toMatchObject({ error: { code: 'invalid_api_key', message: 'The token has expired.' } });
    socket.create({ input: 'Hi' });
    expect(await socket.next()).toMatchObject({ type: 'error', status: 401 });
  });

  const claims: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
    ['another audience', { aud: 'other' }, "The claim 'aud' of the token is not valid."],
    ['another issuer', { iss: 'https://evil.example' }, "The claim 'iss' of the token is not valid."],
    ['no tenant', { tenant: undefined }, "The token has no claim 'tenant'."],
    ['an empty tenant', { tenant: '' }, "The token has no claim 'tenant'."],
    ['no expiry', { exp: undefined }, "The claim 'exp' of the token is not valid."],
    [
      'a time from which it is valid that has not come',
      { nbf: 4_000_000_000 },
      "The claim 'nbf' of the token is not valid.",
    ],
  ];

  it.each(claims)('a JWT is refused with %s', async (_name, changed, message) => {
    await use();
    const token = await sign({ claims: changed });
    const { status, body } = await create(token);
    expect([status, body]).toEqual([401, { error: expect.objectContaining({ message }) as unknown }]);
    expect(JSON.stringify(body)).not.toContain(token);
  });

  it('a JWT is refused when it was changed, is not signed, or is signed with the public key as a secret', async () => {
    await use();
    const [header = '', payload = '', signature = ''] = (await sign()).split('.');
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const richer = encode({ ...(JSON.parse(String(Buffer.from(payload, 'base64url'))) as object), tenant: 'blue' });
    const keys = await (await fetch(`${issuer.url}/keys`)).text();
    const symmetric = `${encode({ alg: 'HS256' })}.${payload}`;
    const forged = [
      `${header}.${richer}.${signature}`,
      `${encode({ alg: 'none' })}.${payload}.`,
      `${symmetric}.${createHmac('sha256', keys).update(symmetric).digest('base64url')}`,
      await sign({ kid: 'unknown' }),
    ];
    for (const token of forged) expect((await create(token)).status).toBe(401);
  });

  it.each([42, null, ['red'], { name: 'red' }])(
    'a JWT is refused with the subject %j, which is no text',
    async (sub) => {
      await use();
      expect(await create(await sign({ claims: { sub } }))).toMatchObject({
        status: 401,
        body: { error: { code: 'invalid_api_key', message: "The claim 'sub' of the token is not a text." } },
      });
    },
  );

  it('a JWT may be signed with a key that the issuer has made since', async () => {
    await using own = await Issuer.start();
    // The keys are read again at most every 30 seconds of real time; a new service has no such pause.
    for (const prepare of [async (): Promise<void> => undefined, () => own.rotate()]) {
      await prepare();
      await using _service = await start({}, own);
      expect((await create(await sign({}, own))).status).toBe(200);
    }
  });

  it('a JWT permits what its claims say', async () => {
    await use({ JWT_TENANT_CLAIM: 'org.name', JWT_SCOPES_CLAIM: 'roles', JWT_MODELS_CLAIM: 'models' });
    const of = (more: object): Promise<string> => sign({ claims: { org: { name: 'blue' }, ...more } });
    const reader = await of({ roles: ['responses:read', 'editor'] });
    expect((await create(reader)).body).toMatchObject({ error: { code: 'missing_scope' } });
    expect((await new ApiClient(service.baseURL, bearer(reader)).get('responses')).status).toBe(200);
    expect((await create(await of({ roles: 'responses:write', models: 'script*' }))).status).toBe(200);
    expect((await create(await of({ models: ['gpt-5'] }))).body).toMatchObject({
      error: { code: 'model_not_allowed' },
    });
    expect((await create(await of({}))).status).toBe(200);
  });
});

describe('an issuer that does not answer well', () => {
  it.each([
    ['answers 500', (own: Issuer): void => void (own.status = 500)],
    ['answers without end', (own: Issuer): void => void (own.padding = 1_000_000)],
  ])('an issuer that %s is a 503 that can be repeated, not a 401', async (_name, misbehave) => {
    await using own = await Issuer.start();
    await using _service = await start({}, own);
    misbehave(own);
    using log = ServiceLog.begin();
    const token = await sign({}, own);
    const { status, headers } = await create(token);
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(log.complaints.join()).toMatch(/the keys of JWT_ISSUER cannot be read/);
    expect(log.complaints.join()).not.toContain(token);
    [own.status, own.padding] = [200, 0];
    expect((await create(token)).status).toBe(200);
  });
});

describe('the variables', () => {
  it.each([
    [{ JWT_AUDIENCE: '' }, 'JWT_AUDIENCE: must be set with JWT_ISSUER'],
    [{ JWT_ISSUER: '' }, 'JWT_ISSUER: must be set with JWT_AUDIENCE'],
    [{ JWT_ISSUER: 'http://login.example.com' }, 'JWT_ISSUER: expected an https URL'],
    [{ JWT_JWKS_URL: 'ftp://x' }, 'JWT_JWKS_URL: expected an https URL'],
    [{ JWT_ALGORITHMS: 'RS256,HS256' }, 'JWT_ALGORITHMS: expected algorithms with public keys'],
    [{ JWT_ALGORITHMS: 'none' }, 'JWT_ALGORITHMS: expected algorithms with public keys'],
  ])('%j is refused at start', async (environment, message) => {
    await expect(start(environment)).rejects.toThrow(message);
  });
});
