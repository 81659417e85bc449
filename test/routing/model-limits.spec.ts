import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { startRoutedService } from '../support/routing/routed-service.js';
import { TRANSPORTS, JSON_TRANSPORT } from '../support/transports.js';

const LONG = 'word '.repeat(300);

const service = useService(() =>
  startRoutedService({
    upstreams: { a: {}, b: {} },
    models: [
      { name: 'free', provider: 'a' },
      { name: 'capped', provider: 'a', max_output_tokens: 100 },
      { name: 'alias', alias: 'capped' },
      { name: 'narrower', alias: 'capped', max_output_tokens: 50 },
      { prefix: 'p/', provider: 'a', max_output_tokens: 100 },
      {
        name: 'several',
        upstreams: [
          { provider: 'b', weight: 1e6 },
          { provider: 'a', weight: 1e-6 },
        ],
        max_output_tokens: 100,
      },
      { name: 'efforts', provider: 'a', reasoning_efforts: ['none', 'low', 'high'] },
      { name: 'efforts-alias', alias: 'efforts' },
      { glob: 'plain-*', provider: 'a', reasoning_efforts: [] },
      { name: 'narrow', provider: 'a', context_window: 200 },
      { name: 'narrow-upstream', provider: 'a', model: 'listed-narrow' },
      { name: 'wide-by-file', provider: 'a', model: 'listed-narrow', context_window: 100_000 },
      {
        name: 'narrow-for-one',
        upstreams: [
          { provider: 'b', model: 'listed-wide', weight: 1e6 },
          { provider: 'a', model: 'listed-narrow' },
        ],
      },
      { default: true, provider: 'a', max_output_tokens: 100, context_window: 200, reasoning_efforts: ['low'] },
    ],
    prepare: (upstream) => {
      upstream('a').list([{ id: 'listed-narrow', max_model_len: 200 }]);
      upstream('b').list([{ id: 'listed-wide', context_length: 100_000 }]);
    },
  }),
);

/** What the upstream is asked, and the response. */
async function run(
  model: string,
  members: object,
): Promise<{ readonly body: Readonly<Record<string, unknown>>; readonly response: Readonly<Record<string, unknown>> }> {
  service.forget();
  const { response } = await JSON_TRANSPORT.run(service, { model, input: 'Hi', ...members });
  const requests = [...service.upstream('a').requests, ...service.upstream('b').requests];
  return { body: requests.at(-1)?.body ?? {}, response };
}

describe('max_output_tokens of an entry', () => {
  it.each([
    ['free', undefined, undefined],
    ['free', 5000, 5000],
    ['capped', undefined, 100],
    ['capped', null, 100],
    ['capped', 99, 99],
    ['capped', 100, 100],
    ['capped', 5000, 100],
    ['alias', 5000, 100],
    ['narrower', 5000, 50],
    ['p/x', 5000, 100],
    ['several', 5000, 100],
    ['anything', 5000, 100],
  ])('max_output_tokens of an entry caps what %s is asked for: %p becomes %p', async (model, asked, expected) => {
    const { body, response } = await run(model, { max_output_tokens: asked });
    expect(body['max_tokens']).toBe(expected);
    // What the client asked for is what it is told.
    expect(response['max_output_tokens']).toBe(asked ?? null);
  });

  it('max_output_tokens of an entry caps a request for the next upstream as well', async () => {
    service.upstream('b').refuse(500);
    const { body } = await run('several', { max_output_tokens: 5000 });
    expect([service.asked(), body['max_tokens']]).toEqual([['a', 'b'], 100]);
  });
});

describe('reasoning_efforts of an entry', () => {
  it.each(['efforts', 'efforts-alias'])('reasoning_efforts of an entry let their efforts pass: %s', async (model) => {
    for (const effort of ['none', 'low', 'high']) {
      expect((await run(model, { reasoning: { effort } })).body['reasoning_effort']).toBe(effort);
    }
    expect((await run(model, {})).body).not.toHaveProperty('reasoning_effort');
  });

  it.each(TRANSPORTS)(
    'reasoning_efforts of an entry refuse every other on $name, and nobody is asked',
    async (transport) => {
      service.forget();
      for (const model of ['efforts', 'efforts-alias']) {
        for (const effort of ['minimal', 'medium', 'xhigh']) {
          const refused = transport.run(service, { model, input: 'Hi', reasoning: { effort } });
          const message = `Unsupported value: '${effort}' is not supported with the '${model}' model. Supported values are: 'none', 'low', and 'high'.`;
          await expect(refused).rejects.toMatchObject({
            status: 400,
            body: { error: { code: 'unsupported_value', param: 'reasoning.effort', message } },
          });
        }
      }
      expect(service.asked()).toEqual([]);
    },
  );

  it.each(TRANSPORTS)('empty reasoning_efforts refuse every effort on $name', async (transport) => {
    service.forget();
    for (const effort of ['none', 'low', 'high']) {
      const refused = transport.run(service, { model: 'plain-x', input: 'Hi', reasoning: { effort } });
      await expect(refused).rejects.toMatchObject({
        status: 400,
        body: { error: { code: 'unsupported_parameter', param: 'reasoning.effort' } },
      });
    }
    expect(service.asked()).toEqual([]);
    await transport.run(service, { model: 'plain-x', input: 'Hi', reasoning: { effort: null } });
    expect(service.asked()).toEqual(['a']);
  });

  it('an entry without reasoning_efforts leaves them to the upstream', async () => {
    expect((await run('free', { reasoning: { effort: 'xhigh' } })).body['reasoning_effort']).toBe('xhigh');
  });

  it('reasoning_efforts of the default hold for every name', async () => {
    await expect(run('anything', { reasoning: { effort: 'high' } })).rejects.toMatchObject({ status: 400 });
  });
});

describe('the window', () => {
  it.each(['narrow', 'narrow-upstream', 'narrow-for-one', 'listed-narrow', 'anything'])(
    'the window of %s is kept before anybody is asked',
    async (model) => {
      service.forget();
      await expect(run(model, { input: LONG })).rejects.toMatchObject({
        status: 400,
        body: { error: { code: 'context_length_exceeded' } },
      });
      expect(service.asked()).toEqual([]);
    },
  );

  it.each(['free', 'wide-by-file', 'listed-wide'])('the window of %s is wide enough', async (model) => {
    expect((await run(model, { input: LONG })).response['status']).toBe('completed');
  });
});
