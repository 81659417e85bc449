import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { ask, retrieveModel, whoAnswers } from '../support/routing/ask.js';
import { startRoutedService } from '../support/routing/routed-service.js';
import { TRANSPORTS } from '../support/transports.js';

describe('a model name goes', () => {
  const service = useService(() =>
    startRoutedService({
      upstreams: { exact: {}, short: {}, long: {}, longest: {}, star: {}, second: {}, lists: {}, fallback: {} },
      models: [
        // Patterns first: their place in the file is not what decides.
        { default: true, provider: 'fallback', model: 'fallback-model' },
        { glob: '*-chat', provider: 'star', model: 'chat-model' },
        { glob: 'org/*-chat', provider: 'second' },
        { glob: 'two-?', provider: 'second' },
        { prefix: 'org/', provider: 'short' },
        { prefix: 'org/team/', strip: true, provider: 'long' },
        { prefix: 'org/team/x', provider: 'longest', model: 'fixed' },
        { name: 'plain', provider: 'exact' },
        { name: 'named', provider: 'exact', model: 'Org/Real-Name' },
        { name: 'alias', alias: 'named' },
        { name: 'earlier-alias', alias: 'org/team/exact' },
        { name: 'org/team/exact', provider: 'exact', model: 'e' },
        { name: 'listed-elsewhere', provider: 'exact' },
      ],
      prepare: (upstream) => {
        upstream('lists').list([
          { id: 'discovered' },
          { id: 'org/of-a-list' },
          { id: 'a-chat' },
          { id: 'listed-elsewhere' },
        ]);
        upstream('short').list([{ id: 'discovered' }, { id: 'only-short' }]);
      },
    }),
  );

  it.each<readonly [how: string, name: string, by: string, as: string]>([
    ['by itself', 'plain', 'exact', 'plain'],
    ['under the name it has upstream', 'named', 'exact', 'Org/Real-Name'],
    ['as what it is an alias of', 'alias', 'exact', 'Org/Real-Name'],
    ['as what it is an alias of, which comes later', 'earlier-alias', 'exact', 'e'],
    ['by its prefix', 'org/model', 'short', 'org/model'],
    ['by its prefix, which it repeats', 'org/org/', 'short', 'org/org/'],
    ['by its longest prefix, without it', 'org/team/model', 'long', 'model'],
    ['by its longest prefix, without it but once', 'org/team/org/team/', 'long', 'org/team/'],
    ['by the longest of three prefixes', 'org/team/xyz', 'longest', 'fixed'],
    ['by itself rather than by a prefix', 'org/team/exact', 'exact', 'e'],
    ['by a prefix rather than by a glob', 'org/some-chat', 'short', 'org/some-chat'],
    ['by the next shorter prefix if there is nothing behind it', 'org/team/', 'short', 'org/team/'],
    ['by the first glob', 'some-chat', 'star', 'chat-model'],
    ['by a glob that stands for slashes', 'some/deep/path-chat', 'star', 'chat-model'],
    ['by a glob that stands for nothing', '-chat', 'star', 'chat-model'],
    ['by a glob that stands for one character', 'two-7', 'second', 'two-7'],
    ['by a glob rather than by a list', 'a-chat', 'star', 'chat-model'],
    ['by a prefix rather than by a list', 'org/of-a-list', 'short', 'org/of-a-list'],
    ['by itself rather than by a list', 'listed-elsewhere', 'exact', 'listed-elsewhere'],
    ['to who lists it', 'only-short', 'short', 'only-short'],
    ['to the first of the file who lists it', 'discovered', 'short', 'discovered'],
    ['by default', 'unheard-of', 'fallback', 'fallback-model'],
    ['by default with a prefix and nothing behind it', 'org/', 'fallback', 'fallback-model'],
    ['by default if only its case is another', 'Plain', 'fallback', 'fallback-model'],
    ['by default if there is a blank too many', 'plain ', 'fallback', 'fallback-model'],
    ['by default if a glob matches only a part of it', 'two-77', 'fallback', 'fallback-model'],
  ])('a model name goes %s', async (_, name, by, as) => {
    expect(await ask(service, name)).toEqual({ by, as, echoed: name });
  });

  it.each(TRANSPORTS)('a model name goes under its own name on $name', async (transport) => {
    expect(await ask(service, 'alias', transport)).toEqual({ by: 'exact', as: 'Org/Real-Name', echoed: 'alias' });
  });

  it('a model name goes in every event of a stream under its own name', async () => {
    const answer = await fetch(`${service.baseURL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'alias', input: 'Hi', stream: true }),
    });
    const text = await answer.text();
    expect(text).toContain('"model":"alias"');
    expect(text).not.toMatch(/Real-Name|"named"/);
  });

  it('a model name goes under its own name when it is read back', async () => {
    const created = await service.client().responses.create({ model: 'alias', input: 'Hi' });
    const read = await service.client().responses.retrieve(created.id);
    expect(read.model).toBe('alias');
  });

  it('a model name is looked up without anybody being asked', async () => {
    service.forget();
    for (const name of ['alias', 'org/team/model', 'some/deep-chat', 'only-short', 'unheard-of']) {
      expect(await retrieveModel(service, name)).toMatchObject({ status: 200, body: { id: name, object: 'model' } });
    }
    expect(service.asked()).toEqual([]);
  });
});

describe('without a default', () => {
  const service = useService(() =>
    startRoutedService({
      upstreams: { only: { discover: false }, lists: {} },
      models: [{ prefix: 'only/', provider: 'only' }],
      prepare: (upstream) => {
        upstream('only').list([{ id: 'hidden' }]);
        upstream('lists').list([{ id: 'shown' }]);
      },
    }),
  );

  it.each(['unheard-of', 'hidden', 'only/', 'gpt-4.1', 'simulator'])(
    'the model %s is not there without a default',
    async (name) => {
      service.forget();
      expect(await whoAnswers(service, name)).toBe('model_not_found');
      expect(await retrieveModel(service, name)).toMatchObject({
        status: 404,
        body: { error: { code: 'model_not_found', type: 'invalid_request_error', param: 'model' } },
      });
      expect(service.asked()).toEqual([]);
    },
  );

  it('what is not to be discovered is not asked for', () => {
    expect(service.upstream('only').listings).toEqual([]);
    expect(service.upstream('lists').listings).not.toEqual([]);
  });

  it('what is listed and what has a prefix is there', async () => {
    expect(await whoAnswers(service, 'shown')).toBe('lists');
    expect(await whoAnswers(service, 'only/x')).toBe('only');
  });

  it.each(TRANSPORTS)('names that nobody has are refused without a default with 404 on $name', async (transport) => {
    await expect(transport.run(service, { model: 'unheard-of', input: 'Hi' })).rejects.toMatchObject({
      status: 404,
      body: { error: { type: 'invalid_request_error', code: 'model_not_found', param: 'model' } },
    });
  });
});
