import { afterEach, describe, expect, it } from '@jest/globals';

import {
  Clock,
  type ModelEvent,
  type ModelInfo,
  ModelProvider,
  ModelProviderBase,
  SimulatorModule,
  type Turn,
} from '../../src/index.js';
import { saidIn } from '../support/output.js';
import { PausingClock } from '../support/clocks.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { listModels, whoAnswers } from '../support/routing/ask.js';
import { type RoutedService, startRoutedService } from '../support/routing/routed-service.js';
import { faultOfFile } from '../support/providers-file.js';
import { startService } from '../support/service.js';
import { JSON_TRANSPORT, SSE_TRANSPORT } from '../support/transports.js';

/** A provider of the program that says which model it was asked for. */
@ModelProvider('classy')
class ClassyProvider extends ModelProviderBase {
  static failures: Error[] = [];

  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: 'classy-1', ownedBy: 'us', created: 1_767_225_600 }];
  }

  override find(model: string): ModelInfo | undefined {
    return model.startsWith('found-') ? { id: model, ownedBy: 'us', created: 1_767_225_600 } : undefined;
  }

  override async *generate({ settings }: Turn): AsyncGenerator<ModelEvent> {
    const failure = ClassyProvider.failures.shift();
    if (failure !== undefined) throw failure;
    yield { type: 'text', delta: `classy as ${settings.model}` };
    yield { type: 'finish', reason: 'stop' };
  }
}

let service: RoutedService;

afterEach(() => service.close());

const saidBy = async (model: string): Promise<unknown> =>
  saidIn((await SSE_TRANSPORT.run(service, { model, input: 'Hi' })).response);

const names = async (): Promise<readonly string[]> => (await listModels(service)).map(({ id }) => id);

describe('providers of the program beside a file', () => {
  const start = async (models: readonly object[]): Promise<void> => {
    service = await startRoutedService({
      upstreams: { gpu: {} },
      providers: [ClassyProvider],
      models,
      prepare: (upstream) => upstream('gpu').list([{ id: 'gpu-1' }, { id: 'classy-1' }, { id: 'found-and-listed' }]),
    });
  };

  it('providers of the program serve what they list and what they find, unless the file says otherwise', async () => {
    await start([
      { name: 'found-by-name', provider: 'gpu' },
      { prefix: 'found-p/', provider: 'gpu' },
      { glob: 'found-*-glob', provider: 'gpu' },
      { default: true, provider: 'gpu' },
    ]);
    expect(await saidBy('classy-1')).toEqual([{ text: 'classy as classy-1' }]);
    expect(await saidBy('found-7')).toEqual([{ text: 'classy as found-7' }]);
    for (const model of ['found-by-name', 'found-p/x', 'found-a-glob', 'found-and-listed', 'gpu-1', 'other']) {
      expect(await whoAnswers(service, model)).toBe('gpu');
    }
    // Those of the program come before those of the file.
    expect(await names()).toEqual(['found-by-name', 'classy-1', 'gpu-1', 'found-and-listed']);
  });

  it('names of a providers file can go to providers of the program', async () => {
    await start([
      { name: 'mine', provider: 'classy', model: 'classy-2' },
      { prefix: 'p/', strip: true, provider: 'classy' },
      { name: 'known', provider: 'classy', model: 'classy-1' },
    ]);
    expect(await saidBy('mine')).toEqual([{ text: 'classy as classy-2' }]);
    expect(await saidBy('p/x')).toEqual([{ text: 'classy as x' }]);
    const owners = (await listModels(service)).map(({ id, owned_by }) => [id, owned_by]);
    expect(owners).toEqual(
      expect.arrayContaining([
        ['known', 'us'],
        ['mine', 'classy'],
      ]),
    );
  });

  it('providers of the program stop the start when the file has a provider of the same name', async () => {
    await start([]);
    const key = 'tz-top-secret-0123456789';
    const content = { providers: { classy: { base_url: 'http://127.0.0.1:9/v1', api_key: key } } };
    const { message, logged } = await faultOfFile({ content }, { providers: [ClassyProvider] });
    expect(message).toMatch(/^PROVIDERS_FILE: [^\n]*providers\.classy[^\n]*$/);
    expect(message + logged).not.toContain(key);
  });
});

describe('a provider of the program among several upstreams', () => {
  it.each([
    ['before an upstream', ['classy', 'gpu'], [{ text: 'gpu' }]],
    ['behind an upstream', ['gpu', 'classy'], [{ text: 'classy as m' }]],
  ])('a provider of the program fails over like any other: %s', async (_, order, said) => {
    const [first, second] = order;
    const clock = new PausingClock();
    const observer = new RecordingObserver();
    service = await startRoutedService({
      upstreams: { gpu: {} },
      providers: [ClassyProvider],
      imports: [observer.asModule()],
      overrides: [[Clock, clock]],
      models: [
        {
          name: 'm',
          upstreams: [
            { provider: first, weight: 1e6 },
            { provider: second, weight: 1e-6 },
          ],
        },
      ],
    });
    // What was not meant for clients may be otherwise elsewhere, too.
    ClassyProvider.failures = first === 'classy' ? [new TypeError('a fault of its own')] : [];
    if (first === 'gpu') service.upstream('gpu').refuse(500);
    expect(await saidBy('m')).toEqual(said);
    expect(ClassyProvider.failures).toEqual([]);
    expect(observer.records.at(-1)).toMatchObject({ provider: second, status: 'completed' });
    clock.letGo();
  });
});

describe('the simulator', () => {
  it('the simulator serves nothing beside a file', async () => {
    service = await startRoutedService({ upstreams: { gpu: {} }, models: [{ name: 'm', provider: 'gpu' }] });
    expect(await names()).toEqual(['m']);
    for (const model of ['gpt-5', 'gpt-4.1', 'simulator', 'any']) {
      expect(await whoAnswers(service, model)).toBe('model_not_found');
    }
  });

  it('the simulator serves what names of the file go to it', async () => {
    service = await startRoutedService({
      upstreams: { gpu: {} },
      models: [
        { name: 'm', provider: 'gpu' },
        { name: 'simulated', provider: 'simulator', model: 'gpt-4.1' },
        { glob: 'sim-*', provider: 'simulator' },
      ],
    });
    for (const model of ['simulated', 'sim-anything']) {
      const { response } = await JSON_TRANSPORT.run(service, { model, input: 'Hi' });
      expect(response).toMatchObject({ status: 'completed', model });
    }
    expect(service.asked()).toEqual([]);
    expect(await names()).toEqual(['m', 'simulated']);
    expect(await whoAnswers(service, 'gpt-4.1')).toBe('model_not_found');
  });

  it('the simulator serves names of its own beside a file where the program imports it', async () => {
    service = await startRoutedService({
      upstreams: { gpu: {} },
      providers: [],
      imports: [SimulatorModule],
      models: [{ name: 'gpt-4.1', provider: 'gpu' }],
    });
    expect(await whoAnswers(service, 'gpt-4.1')).toBe('gpu');
    const { response } = await JSON_TRANSPORT.run(service, { model: 'gpt-5', input: 'Hi' });
    expect(response.status).toBe('completed');
    expect(service.asked()).toEqual(['gpu']);
    expect(await names()).toEqual(expect.arrayContaining(['gpt-4.1', 'gpt-5', 'o3']));
  });

  it('the simulator answers everything without a file', async () => {
    service = await startRoutedService({ upstreams: {} });
    await using alone = await startService({ environment: { PROVIDERS_FILE: '' } });
    for (const model of ['gpt-5', 'anything']) {
      expect((await JSON_TRANSPORT.run(alone, { model, input: 'Hi' })).response.status).toBe('completed');
    }
  });
});
