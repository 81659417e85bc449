import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { SimulatorModule } from '../../src/index.js';
import { describeService } from '../support/describe-service.js';
import { rounds, beginningsOf, TOO_LONG, words } from './long-conversations.js';
import { Translation } from '../support/translation/translation.js';
import { itemsOf } from '../support/output.js';
import { user } from '../support/translation/user-items.js';
import { TRANSPORTS } from '../support/transports.js';

describe("windows of an upstream's models", () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start({}, [
      { name: 'listed', provider: 'generic', model: 'listed-model' },
      {
        name: 'either',
        upstreams: [
          { provider: 'generic', model: 'listed-model' },
          { provider: 'generic', model: 'large-model' },
        ],
      },
    ]);
    translation.upstream.list([
      { id: 'listed-model', max_model_len: 2000 },
      { id: 'large-model', max_model_len: 1_000_000 },
      { id: 'found-model', context_length: 2000 },
    ]);
    await translation.service.client().models.list();
  });

  afterAll(() => translation.close());

  describe('that the upstream lists', () => {
    it.each(['listed', 'either', 'found-model'])(
      'a window that the upstream lists is treated like a configured one: %s',
      async (model) => {
        const input = [...rounds(15), user('the end')];
        expect(await translation.refusal({ model, input })).toEqual(TOO_LONG);
        const messages = await translation.messages({ model, truncation: 'auto', input });
        expect(messages.length).toBeLessThan(20);
        expect(beginningsOf(messages).at(-1)).toBe('the end');
      },
    );
  });

  describe('as the upstream says', () => {
    it.each<[string, number, string]>([
      [
        'a code',
        400,
        '{"error":{"message":"Too long.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}',
      ],
      [
        'words',
        400,
        '{"object":"error","message":"This model\'s maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","code":400}',
      ],
      [
        'a type',
        400,
        '{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}',
      ],
      [
        'other words',
        400,
        '{"error":{"message":"prompt is too long: 5000 tokens > 4096 maximum","type":"invalid_request_error"}}',
      ],
      [
        'words with 422',
        422,
        '{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`","error_type":"validation"}',
      ],
    ])(
      'a context that the upstream finds too long is refused with the code of the service: %s',
      async (_, status, body) => {
        translation.upstream.respond({
          status,
          headers: { 'content-type': 'application/json' },
          packets: [Buffer.from(body)],
          end: 'end',
        });
        expect(await translation.refusal({ input: 'Hello' })).toEqual({ ...TOO_LONG, wasAsked: true });
      },
    );
  });
});

describeService("the simulator's windows", { providers: [], imports: [SimulatorModule] }, (service) => {
  /** More than the 200,000 tokens of the model. */
  const LONG = Array.from({ length: 30 }, (_, index) => user(`question ${index} ${words(10_000)}`));

  it("the simulator's windows refuse what is too long, over every transport", async () => {
    for (const transport of TRANSPORTS) {
      await expect(transport.run(service, { model: 'o3', input: LONG })).rejects.toMatchObject({
        status: 400,
        body: { error: { code: 'context_length_exceeded', param: 'input' } },
      });
    }
  });

  it("the simulator's windows are kept with truncation", async () => {
    for (const transport of TRANSPORTS) {
      const { response } = await transport.run(service, { model: 'o3', truncation: 'auto', input: LONG });
      expect(response).toMatchObject({ status: 'completed', truncation: 'auto' });
      const { input_tokens: tokens } = response['usage'] as { input_tokens: number };
      expect(tokens).toBeLessThanOrEqual(200_000);
      expect(tokens).toBeGreaterThan(100_000);
      expect(itemsOf(response).length).toBeGreaterThan(0);
    }
  });
});
