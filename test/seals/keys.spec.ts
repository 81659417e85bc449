import { randomBytes } from 'node:crypto';

import { describe, expect, it, jest } from '@jest/globals';

import { readEnvironment } from '../../src/config/index.js';
import { MemorySecretStore } from '../../src/state/memory/secrets.js';
import { SecretStore, StoreUnavailableError } from '../../src/state/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import type { ModelEvent } from '../../src/index.js';
import { ApiClient } from '../support/api-client.js';
import { ServiceLog } from '../support/service-log.js';
import { type Service, type ServiceOptions, startService } from '../support/service.js';
import { TestPolicy } from '../support/test-policy.js';

const [key, other] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];

type Setup = Pick<ServiceOptions, 'environment' | 'overrides' | 'imports'>;

const start = (setup: Setup): Promise<Service> => startService({ providers: [ScriptedProvider], ...setup });

const modelOf = (service: Service): ScriptedProvider =>
  service.app.get<ScriptedProvider, ScriptedProvider>(ScriptedProvider);

/** Runs a turn whose model thinks, for a client that stores nothing; returns its sealed thought. */
async function think(service: Service, input: unknown = 'Hi'): Promise<{ readonly encrypted_content: string }> {
  const model = modelOf(service);
  model.reply({ type: 'reasoning_encrypted', plain: 'Hm.' }, { type: 'text', delta: 'Hello.' });
  const { output } = await new ApiClient(service.baseURL).create({ input, store: false });
  return (output as readonly { readonly encrypted_content: string }[])[0] ?? { encrypted_content: '' };
}

/** The reasoning that the model is given when a client sends an item back. */
async function givenBack(service: Service, item: object): Promise<unknown> {
  await think(service, [{ role: 'user', content: 'Hi' }, item, { role: 'user', content: 'And?' }]);
  const model = modelOf(service);
  const found = model.turns.at(-1)?.context.find(({ type }) => type === 'reasoning');
  return (found?.['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text;
}

describe('SEAL_KEYS', () => {
  it('SEAL_KEYS opens the seals of old keys behind a new one, until they are removed', async () => {
    await using before = await start({ environment: { SEAL_KEYS: key } });
    const item = await think(before);
    await using rotated = await start({ environment: { SEAL_KEYS: `${other},${key}` } });
    expect(await givenBack(rotated, item)).toBe('Hm.');
    expect(await givenBack(before, await think(rotated))).toBeUndefined();
    await using after = await start({ environment: { SEAL_KEYS: other } });
    expect(await givenBack(after, item)).toBeUndefined();
  });

  it.each([
    'x',
    key.slice(0, -4),
    `${key},`.repeat(2) + 'short',
    randomBytes(16).toString('base64'),
    `${key} `.replace('=', ''),
  ])('SEAL_KEYS refuses to start with what is no key, and does not say it (%#)', (value) => {
    let message = '';
    try {
      readEnvironment({ SEAL_KEYS: value });
    } catch (error) {
      message = String(error);
    }
    expect(message).toMatch(
      /SEAL_KEYS: entry \d is not the base64 of 32 bytes, such as "\$\(openssl rand -base64 32\)"\./,
    );
    expect(message).not.toContain(key.slice(0, 20));
  });
});

describe('without SEAL_KEYS', () => {
  it('replicas without SEAL_KEYS share the key that one of them has made', async () => {
    const overrides = [[SecretStore, new MemorySecretStore()]] as const;
    await using one = await start({ overrides });
    await using two = await start({ overrides });
    expect(await givenBack(two, await think(one))).toBe('Hm.');
  });

  it('a key still opens what it has sealed once there are others', async () => {
    const overrides = [[SecretStore, new MemorySecretStore()]] as const;
    await using before = await start({ overrides });
    const item = await think(before);
    await using after = await start({ overrides, environment: { SEAL_KEYS: key } });
    const later = await think(after);
    expect(await givenBack(after, item)).toBe('Hm.');
    expect(await givenBack(before, later)).toBeUndefined();
    expect(await givenBack(after, later)).toBe('Hm.');
  });

  it('the key is read at the first reasoning, wherever a policy puts it', async () => {
    const policy = new TestPolicy();
    const held: ModelEvent[] = [];
    policy.follow = () => ({
      look: (event) => {
        if (event.type === 'reasoning_encrypted') held.push(event);
        else return event.type === 'finish' ? [...held.splice(0), event] : event;
        return undefined;
      },
    });
    const secrets = new MemorySecretStore();
    const asked = jest.spyOn(secrets, 'getOrCreate');
    await using service = await start({ overrides: [[SecretStore, secrets]], imports: [policy.asModule()] });
    const api = new ApiClient(service.baseURL);
    await api.create({ store: false });
    expect(asked).not.toHaveBeenCalled();
    modelOf(service).reply({ type: 'text', delta: 'Hello.' }, { type: 'reasoning_encrypted', plain: 'Hm.' });
    const { status, output } = await api.create({ store: false });
    expect(status).toBe('completed');
    expect(output).toMatchObject([{ type: 'message' }, { encrypted_content: expect.stringMatching(/^antiphon1_/) }]);
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it('a key is gone with the state', async () => {
    await using one = await start({});
    await using two = await start({});
    expect(await givenBack(two, await think(one))).toBeUndefined();
  });

  it('only turns that need a seal fail while the state is unavailable, and none afterwards', async () => {
    let isThere = false;
    class Failing extends MemorySecretStore {
      override getOrCreate(name: string, proposal: string): Promise<string> {
        if (!isThere) return Promise.reject(new StoreUnavailableError('the database is unavailable'));
        return super.getOrCreate(name, proposal);
      }
    }
    await using service = await start({ overrides: [[SecretStore, new Failing()]] });
    const api = new ApiClient(service.baseURL);
    const ready = await fetch(`${service.origin}/readyz`);
    expect(ready.status).toBe(200);
    modelOf(service).reply({ type: 'text', delta: 'Hello.' });
    expect(await api.create({ store: false })).toMatchObject({ status: 'completed' });
    const request = { model: 'scripted', input: 'Hi', store: false };
    modelOf(service).reply({ type: 'reasoning_encrypted', plain: 'Hm.' });
    expect((await api.post('responses', { ...request, include: ['reasoning.encrypted_content'] })).status).toBe(503);
    modelOf(service).reply(
      { type: 'reasoning', delta: 'Hm.' },
      { type: 'reasoning_encrypted', plain: 'Hm.' },
      { type: 'text', delta: 'Hello.' },
    );
    const { output } = await api.create({ store: false });
    expect(output).toEqual([
      expect.not.objectContaining({ encrypted_content: expect.anything() }),
      expect.objectContaining({ type: 'message' }),
    ]);
    isThere = true;
    expect(await givenBack(service, await think(service))).toBe('Hm.');
  });
});

it('no key is in the log, nor in what the service tells of itself', async () => {
  await using service = await start({ environment: { SEAL_KEYS: `${key},${other}` } });
  using log = ServiceLog.begin();
  await givenBack(service, await think(service));
  const pages = await Promise.all(
    ['/readyz?verbose', '/', '/v1/models'].map(async (path) => (await fetch(service.origin + path)).text()),
  );
  const told = [...log.complaints, ...log.notes, ...pages].join('\n');
  for (const secret of [key, other]) expect(told).not.toContain(secret);
});
