import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ApiKeys } from '../../src/access/index.js';
import { Clock } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { ApiClient } from '../support/api-client.js';
import { pause } from '../support/pause.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { bearer, KeysFile, sha256 } from './keys.js';

const RED = { id: 'red', tenant: 'red', secrets: [{ sha256: sha256('red-key') }] };

let file: KeysFile;
let clock: FakeClock;
let service: Service;

beforeEach(async () => {
  file = await KeysFile.with([RED]);
  clock = new FakeClock();
});

afterEach(async () => {
  await service.close();
  await file[Symbol.asyncDispose]();
});

async function start(environment: object = {}): Promise<void> {
  service = await startService({
    environment: { KEYS_FILE: file.path, ...environment },
    providers: [ScriptedProvider],
    overrides: [[Clock, clock]],
  });
}

async function statusOf(key: string): Promise<number> {
  const api = new ApiClient(service.baseURL, bearer(key));
  return (await api.post('responses', { model: 'scripted', input: 'Hi' })).status;
}

/** Has the service notice a change, as its clock would. */
async function changeFile(change: () => Promise<void>): Promise<void> {
  await change();
  const reread = new Promise((resolve) => setImmediate(resolve));
  process.emit('SIGHUP');
  await reread;
}

/** Waits until a key has the expected status: the file is read on its own time. */
async function untilStatus(key: string, status: number): Promise<void> {
  while ((await statusOf(key)) !== status) await pause();
}

describe('KEYS_FILE', () => {
  it('KEYS_FILE admits its keys beside those of API_KEYS, each to its tenant', async () => {
    await start({ API_KEYS: 'blue:blue-key' });
    const red = new ApiClient(service.baseURL, bearer('red-key'));
    const { body } = await red.post('responses', { model: 'scripted', input: 'Hi' });
    const path = `responses/${String(body['id'])}`;
    expect((await red.get(path)).status).toBe(200);
    expect((await red.with(bearer('blue-key')).get(path)).status).toBe(404);
    expect(await statusOf('other')).toBe(401);
    expect(await statusOf(sha256('red-key'))).toBe(401);
  });

  it('KEYS_FILE closes the service even when it has no key', async () => {
    await file.write([]);
    await start();
    expect(await statusOf('red-key')).toBe(401);
  });

  it('KEYS_FILE accepts the old and the new key while one replaces the other, until the old one expires', async () => {
    const expires = new Date(clock.now() + 60_000).toISOString();
    const secrets = [{ sha256: sha256('old'), expires }, { sha256: sha256('new') }];
    await file.write([{ ...RED, secrets }]);
    await start();
    expect([await statusOf('old'), await statusOf('new')]).toEqual([200, 200]);
    clock.advance(60_000);
    expect([await statusOf('old'), await statusOf('new')]).toEqual([401, 200]);
  });

  it('KEYS_FILE ends a credential at its own expiry, also at the next turn of an open socket', async () => {
    await file.write([{ ...RED, expires: new Date(clock.now() + 60_000).toISOString() }]);
    await start();
    await using socket = await SocketClient.open(service, { headers: bearer('red-key') });
    socket.create({ input: 'Hi' });
    expect((await socket.finish()).response.status).toBe('completed');
    clock.advance(60_000);
    socket.create({ input: 'Hi' });
    expect(await socket.next()).toMatchObject({ type: 'error', status: 401, error: { code: 'invalid_api_key' } });
  });

  it('KEYS_FILE is read again when it changes: a removed key is refused, also on an open socket, and a new one admitted', async () => {
    await start();
    await using socket = await SocketClient.open(service, { headers: bearer('red-key') });
    await file.write([{ ...RED, secrets: [{ sha256: sha256('next-key') }] }]);
    clock.advance(2000);
    await untilStatus('next-key', 200);
    expect(await statusOf('red-key')).toBe(401);
    socket.create({ input: 'Hi' });
    expect(await socket.next()).toMatchObject({ type: 'error', status: 401 });
  });

  it('KEYS_FILE changes what an open socket may do with its next turn', async () => {
    await start();
    await using socket = await SocketClient.open(service, { headers: bearer('red-key') });
    await changeFile(() => file.write([{ ...RED, models: ['other'] }]));
    while (service.app.get(ApiKeys).grantOf('red-key')?.models === undefined) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.create({ input: 'Hi' });
    expect(await socket.next()).toMatchObject({ type: 'error', status: 403, error: { code: 'model_not_allowed' } });
  });

  it.each([
    ['is no longer valid', () => file.writeText('{"keys": [{"id": "x"}]}')],
    ['is gone', () => file.remove()],
  ])('KEYS_FILE keeps its keys when it %s, and says so once', async (_name, change) => {
    await start();
    using log = ServiceLog.begin();
    await changeFile(change);
    while (log.complaints.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await statusOf('red-key')).toBe(200);
    expect(log.complaints).toEqual([expect.stringMatching(/^KEYS_FILE: .*the keys so far stay/)]);
  });
});

describe('a KEYS_FILE that cannot be used', () => {
  const refuse = async (content: string): Promise<string> => {
    await file.writeText(content);
    const error = await start().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    // Nothing was started.
    service = { close: () => Promise.resolve() } as Service;
    return (error as Error).message;
  };
  const keys = (...entries: readonly object[]): string => JSON.stringify({ keys: entries });

  it.each([
    ['no JSON', '{', 'the file is neither YAML nor JSON, at line 1, column 2: Flow map must end with a }'],
    ['no keys', '{}', "must have required property 'keys'"],
    [
      'a plain key',
      keys({ ...RED, secrets: [{ sha256: 'red-key' }] }),
      'keys[0].secrets[0].sha256 must be the SHA-256',
    ],
    ['two of a name', keys(RED, { ...RED, secrets: [{ sha256: sha256('x') }] }), 'keys[1].id is a duplicate'],
    ['an id as JWTs have', keys({ ...RED, id: 'jwt:red' }), "keys[0].id begins with 'jwt:'"],
    ['a key twice', keys(RED, { ...RED, id: 'two' }), 'keys[1].secrets[0].sha256 is a duplicate'],
    ['an unknown scope', keys({ ...RED, scopes: ['all'] }), 'keys[0].scopes[0] must be'],
    ['no time', keys({ ...RED, expires: 'soon' }), 'keys[0].expires must be a time such as 2027-01-31T00:00:00Z'],
    ['three secrets', keys({ ...RED, secrets: [1, 2, 3].map((n) => ({ sha256: sha256(`${n}`) })) }), 'keys[0].secrets'],
  ])('a KEYS_FILE that cannot be used fails the start with one line: %s', async (_name, content, expected) => {
    const message = await refuse(content);
    expect(message).toContain(`KEYS_FILE: ${file.path}: `);
    expect(message).toContain(expected);
    expect(message).not.toContain('red-key');
    expect(message).not.toContain(sha256('red-key'));
  });
});
