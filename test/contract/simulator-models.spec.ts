import { describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import OpenAI from 'openai';

import { SimulatorModule } from '../../src/index.js';
import { ClosedProvider } from './closed-provider.js';
import { describeService, useService } from '../support/describe-service.js';
import type { Service, ServiceOptions } from '../support/service.js';
import { Refusal, type Transport } from '../support/transport.js';
import { JSON_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const GPT_5_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high'];
const O_SERIES_EFFORTS = ['low', 'medium', 'high'];

/** Listed models, and the efforts they take. */
const CATALOGUE: readonly (readonly [model: string, efforts: readonly string[]])[] = [
  ['o1', O_SERIES_EFFORTS],
  ['o3', O_SERIES_EFFORTS],
  ['o3-mini', O_SERIES_EFFORTS],
  ['o4-mini', O_SERIES_EFFORTS],
  ['gpt-4.1', []],
  ['gpt-4.1-mini', []],
  ['gpt-4.1-nano', []],
  ['gpt-5', GPT_5_EFFORTS],
  ['gpt-5-mini', GPT_5_EFFORTS],
  ['gpt-5-nano', GPT_5_EFFORTS],
  ['gpt-5.1', GPT_5_EFFORTS],
  ['gpt-5.2', [...GPT_5_EFFORTS, 'xhigh']],
];
const SNAPSHOTS: typeof CATALOGUE = [
  ['gpt-5-2025-08-07', GPT_5_EFFORTS],
  ['gpt-4.1-2025-04-14', []],
  ['o4-mini-2025-04-16', O_SERIES_EFFORTS],
];
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const GENERIC = ['simulator', 'my-own-model'];
/** Names that would be slips of others, where only those are served. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['GPT-5', 'gpt-5'],
  [' gpt-5', 'gpt-5'],
  ['gpt-5-nimi', 'gpt-5-mini'],
  ['gpt5', 'gpt-5'],
]);
const UNKNOWN = ['my-own-model', 'acme/gpt-5', 'gpt-5-2025', 'gpt-99', ...MEANT.keys()];

const run = (service: Service, transport: Transport, body: object): Promise<unknown> =>
  transport.run(service, { input: 'Hello!', ...body }).then(
    ({ response }) => response,
    (refusal: unknown) => refusal,
  );

@Module({ providers: [ClosedProvider] })
class ClosedModule {}

/** What a turn, and the look at the model, come to where it is not served. */
function notFound(model: string): object {
  const meant = MEANT.get(model);
  const suggestion = meant === undefined ? '' : ` Did you mean '${meant}'?`;
  const message = `The model '${model}' does not exist or you do not have access to it.${suggestion}`;
  return {
    status: 404,
    body: { error: { message, type: 'invalid_request_error', param: 'model', code: 'model_not_found' } },
  };
}

async function retrieve(service: Service, model: string): Promise<{ readonly status: number; readonly body: unknown }> {
  const answer = await fetch(`${service.baseURL}/models/${encodeURIComponent(model)}`);
  return { status: answer.status, body: await answer.json() };
}

describeService('the catalogue of the simulator', {}, (service) => {
  it.each(['/v1', '/openai/v1'])('the catalogue of the simulator is listed at GET %s/models', async (prefix) => {
    const answer = await fetch(`${service.origin}${prefix}/models`);
    const list = (await answer.json()) as { readonly data: readonly { readonly id: string }[] };
    expect(answer.status).toBe(200);
    const model = { id: expect.any(String), object: 'model', created: expect.any(Number), owned_by: 'simulator' };
    // Codex reads `models`, and takes it well when there are none.
    expect(list).toEqual({ object: 'list', data: list.data.map(() => model), models: [] });
    expect(list.data.map(({ id }) => id).toSorted()).toEqual([...CATALOGUE.map(([id]) => id), 'simulator'].toSorted());
  });

  it('the catalogue of the simulator is the same list for the SDK, and each model can be retrieved', async () => {
    const client = service.client();
    const { data } = await client.models.list();
    expect(data).toHaveLength(CATALOGUE.length + 1);
    for (const model of data) expect(await client.models.retrieve(model.id)).toEqual(model);
  });

  it.each(SNAPSHOTS)('the catalogue of the simulator knows the dated snapshot %s', async (model) => {
    expect(await service.client().models.retrieve(model)).toMatchObject({ id: model, object: 'model' });
    const response = await service.client().responses.create({ model, input: 'Hello!' });
    expect(response).toMatchObject({ model, status: 'completed' });
  });

  it.each([...CATALOGUE, ...SNAPSHOTS])(
    'the catalogue of the simulator has the efforts of %s',
    async (model, permitted) => {
      const taken: string[] = [];
      for (const effort of EFFORTS) {
        const answer = await run(service, JSON_TRANSPORT, { model, reasoning: { effort } });
        if (!(answer instanceof Refusal)) taken.push(effort);
      }
      expect(taken).toEqual(permitted);
    },
  );

  it.each(GENERIC)('the catalogue of the simulator leaves efforts open for %s', async (model) => {
    for (const effort of EFFORTS) {
      const answer = await run(service, JSON_TRANSPORT, { model, reasoning: { effort } });
      expect(answer).toMatchObject({ status: 'completed', reasoning: { effort } });
    }
  });

  describe.each(TRANSPORTS)('asked over $name', (transport) => {
    it('the simulator names the efforts that are there for one that is not', async () => {
      const answer = await run(service, transport, { model: 'o3', reasoning: { effort: 'minimal' } });
      expect(answer).toMatchObject({
        status: 400,
        body: {
          error: {
            type: 'invalid_request_error',
            code: 'unsupported_value',
            param: 'reasoning.effort',
            message:
              "Unsupported value: 'minimal' is not supported with the 'o3' model. Supported values are: 'low', 'medium', and 'high'.",
          },
        },
      });
    });

    it.each(['low', 'none'])(
      'the simulator refuses any effort for a model that does not reason: %s',
      async (effort) => {
        const answer = await run(service, transport, { model: 'gpt-4.1', reasoning: { effort } });
        expect(answer).toMatchObject({
          status: 400,
          body: { error: { type: 'invalid_request_error', code: 'unsupported_parameter', param: 'reasoning.effort' } },
        });
      },
    );

    it('the simulator answers any name while no other provider is there', async () => {
      for (const model of UNKNOWN) {
        expect(await run(service, transport, { model })).toMatchObject({ model, status: 'completed' });
      }
    });

    it('the simulator does not answer an empty name', async () => {
      expect(await run(service, transport, { model: '' })).toBeInstanceOf(Refusal);
    });
  });

  it.each(UNKNOWN)(
    'the catalogue of the simulator shows any name while no other provider is there: %j',
    async (model) => {
      expect(await retrieve(service, model)).toMatchObject({ status: 200, body: { id: model, object: 'model' } });
    },
  );
});

describe.each<[name: string, options: ServiceOptions]>([
  ['SIMULATOR_ANY_MODEL=false', { environment: { SIMULATOR_ANY_MODEL: 'false' } }],
  ['another provider before it', { providers: [ClosedProvider], imports: [SimulatorModule] }],
  ['another provider after it', { providers: [], imports: [SimulatorModule, ClosedModule] }],
])('the simulator with %s', (_, options) => {
  const service = useService(options);

  it.each(TRANSPORTS)('the simulator answers no names but its own over $name', async (transport) => {
    for (const model of UNKNOWN) {
      const answer = await run(service, transport, { model });
      expect(answer).toBeInstanceOf(Refusal);
      expect(answer).toMatchObject(notFound(model));
    }
    for (const model of ['simulator', 'gpt-5', 'gpt-5-2025-08-07']) {
      expect(await run(service, transport, { model })).toMatchObject({ model, status: 'completed' });
    }
  });

  it('the simulator does not show other names', async () => {
    for (const model of UNKNOWN) expect(await retrieve(service, model)).toMatchObject(notFound(model));
    const failure = service.client().models.retrieve('my-own-model');
    await expect(failure).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });
});

describe('the simulator with SIMULATOR_ANY_MODEL=true and another provider', () => {
  const service = useService({
    providers: [ClosedProvider],
    imports: [SimulatorModule],
    environment: { SIMULATOR_ANY_MODEL: 'true' },
  });

  it.each(TRANSPORTS)('the simulator answers any name but the other’s over $name', async (transport) => {
    for (const model of UNKNOWN) {
      expect(await run(service, transport, { model })).toMatchObject({ model, status: 'completed' });
    }
    expect(await run(service, transport, { model: 'closed-1' })).toMatchObject({
      status: 'completed',
      output: [{ content: [{ text: 'Closed.' }] }],
    });
  });

  it('the simulator lists its models and those of another provider', async () => {
    const owners = (await service.client().models.list()).data.map(({ id, owned_by }) => [id, owned_by]);
    expect(owners).toContainEqual(['closed-1', 'closed']);
    expect(owners).toContainEqual(['simulator', 'simulator']);
    expect(owners).toHaveLength(CATALOGUE.length + 2);
  });
});
