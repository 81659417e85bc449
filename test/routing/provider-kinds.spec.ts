import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import {
  createApp,
  type ModelEvent,
  type ModelInfo,
  ModelProviderBase,
  type ProviderEntry,
  ProviderKind,
  type Turn,
} from '../../src/index.js';

/** A kind whose entries have a key, and fail as they say. */
class KeyKind extends ProviderKind {
  override readonly members = { key: { type: 'string' }, fails: { enum: ['check', 'create'] } };
  override readonly required = ['key'];

  override secretsOf({ key }: ProviderEntry): readonly string[] {
    return [String(key)];
  }

  override check({ key, fails }: ProviderEntry): void {
    if (fails === 'check') throw new Error(`key must not be ${String(key)}`);
  }

  override create(_name: string, { key, fails }: ProviderEntry): ModelProviderBase {
    if (fails === 'create') throw new Error(`cannot log in with ${String(key)}`);
    return new HintProvider();
  }
}

/** Says which hint it was sent. */
class HintProvider extends ModelProviderBase {
  override readonly requestHeaders = ['X-Key-Hint'];

  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: 'hint-1', ownedBy: 'vault', created: 1 }];
  }

  override async *generate({ headers }: Turn): AsyncGenerator<ModelEvent> {
    yield { type: 'text', delta: `the hint is ${String(headers['x-key-hint'])}` };
    yield { type: 'finish', reason: 'stop' };
  }
}

describe('a kind of providers', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kinds-'));
  });

  afterAll(() => rm(folder, { recursive: true }));

  const start = async (entry: object): ReturnType<typeof createApp> => {
    const file = join(folder, 'providers.json');
    await writeFile(file, JSON.stringify({ providers: { vault: { kind: 'key', ...entry } } }));
    const environment = { PROVIDERS_FILE: file, LOG_LEVEL: 'fatal' };
    const app = await createApp({ environment, providerKinds: { key: { useValue: new KeyKind() } } });
    try {
      await app.listen(0, '127.0.0.1');
    } catch (error) {
      await app.close();
      throw error;
    }
    return app;
  };

  it.each([
    ['check', /providers\.vault\.key must not be \[redacted\]\.$/],
    ['create', /providers\.vault: cannot log in with \[redacted\]\.$/],
  ])('a kind of providers that fails to %s fails the start, without its secrets', async (fails, reason) => {
    await expect(start({ key: 'hunter2-hunter2', fails })).rejects.toThrow(reason);
  });

  it.each([
    [{ key: 5 }, /providers\.vault\.key must be a string, but is an integer/],
    [{}, /providers\.vault must have required property 'key'/],
    [{ key: 'x', kei: 'y' }, /providers\.vault has the unknown member 'kei' \(did you mean 'key'\?\)\.$/],
    [
      { key: 'x', base_url: 'http://127.0.0.1' },
      /providers\.vault must have no other members than .+, but has 'base_url'\.$/,
    ],
    // What may be a key is not quoted.
    [{ key: 'x', 'sk-hunter2': null }, /providers\.vault must have no other members than [\w, ]+\.$/],
    [{ kind: 'lock', key: 'x' }, /providers\.vault\.kind must be one of chat-completions, responses, key/],
  ])('a kind of providers refuses the entry %p', async (entry, reason) => {
    await expect(start(entry)).rejects.toThrow(reason);
  });

  it('a kind of providers makes providers that receive the headers they read', async () => {
    const app = await start({ key: 'hunter2-hunter2' });
    const response = await fetch(`${await app.getUrl()}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-key-hint': 'blue' },
      body: JSON.stringify({ model: 'hint-1', input: 'Hi' }),
    });
    expect(await response.json()).toMatchObject({ output_text: 'the hint is blue' });
    await app.close();
  });
});
