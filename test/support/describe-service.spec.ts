import { afterAll, describe, expect, it } from '@jest/globals';

import { closeWhole, describeService, useFreshService } from './describe-service.js';
import { type Service, startService } from './service.js';
import { HeldTurns } from './held-turns.js';
import { ScriptedProvider } from '../../src/testing/index.js';

const providers = [ScriptedProvider];

describe('describeService', () => {
  let origin = '';

  describeService('gives a block a service', { providers }, (service) => {
    it('describeService gives a block a service that its tests share', async () => {
      ({ origin } = service);
      service.provider.reply({ type: 'text', delta: 'Hello' });
      expect((await service.api.create({}))['output_text']).toBe('Hello');
    });

    it('describeService gives a block a service that its next test has as well', () => {
      expect(service.origin).toBe(origin);
      expect(service.provider.turns).toHaveLength(1);
    });

    afterAll(async () => {
      await expect(fetch(`${origin}/healthz`)).rejects.toThrow();
    });
  });

  it('describeService has closed the service after the block', async () => {
    await expect(fetch(`${origin}/healthz`)).rejects.toThrow();
  });
});

describe('useFreshService', () => {
  const seen = new Set<string>();
  const service = useFreshService(() => startService({ providers }));

  it.each(['one', 'two'])('useFreshService gives test %s a service of its own', async () => {
    await service.api.create({});
    expect(service.provider.turns).toHaveLength(1);
    expect(seen).not.toContain(service.origin);
    seen.add(service.origin);
  });
});

describe('closeWhole', () => {
  it('closeWhole throws when a turn outlives its service', async () => {
    const service = await startService({ providers });
    const held = new HeldTurns(service.app.get(ScriptedProvider)).hold();
    const turn = fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'scripted', input: 'Hi' }),
    });
    await held.whenBegun(1);
    const leaking: Service = { ...service, close: () => Promise.resolve() };
    await expect(closeWhole(leaking)).rejects.toThrow('1 turns run on');
    held.letAllGo();
    await (await turn).text();
    await closeWhole(service);
  });
});
