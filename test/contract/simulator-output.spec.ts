import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { useService } from '../support/describe-service.js';
import { textOf } from '../support/output.js';
import { closed, formatOf, inputTokens, itemsOf, type OutputItem } from '../support/simulator-requests.js';
import type { TurnResult } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

const journey = closed(
  {
    title: { type: 'string', minLength: 3 },
    starts: { type: 'string', format: 'date-time' },
    mood: { enum: ['calm', 'wild'] },
    stops: { type: 'array', items: { $ref: '#/$defs/stop' }, minItems: 2, maxItems: 4 },
    guide: { anyOf: [closed({ email: { type: 'string', format: 'email' } }), { type: 'null' }] },
    price: { type: 'number', exclusiveMinimum: 0, maximum: 99.5 },
  },
  { $defs: { stop: closed({ place: { type: 'string' }, nights: { type: 'integer', minimum: 1, maximum: 30 } }) } },
);

const walk = { type: 'function', name: 'walk', parameters: closed({}), strict: true };

const OPAQUE: unknown = expect.stringMatching(/^[\w+/=-]{32,}$/);

describe.each(TRANSPORTS)('output of the simulator ($name)', (transport) => {
  const service = useService({ environment: { SIMULATOR_CONTROL: true } });

  const ask = (body: object): Promise<TurnResult> =>
    transport.run(service, { model: 'gpt-4.1', input: 'Go on.', ...body });

  describe('structured', () => {
    const validate = addFormats.default(new Ajv2020()).compile(journey);

    it.each([1, 2, 3, 4, 5, 6, 7, 8])(
      'structured output fits the schema and is streamed in several deltas: seed %d',
      async (seed) => {
        const client_metadata = { 'x-simulate': `seed=${seed}` };
        const { response, events } = await ask({ model: 'gpt-5', text: formatOf(journey), client_metadata });
        const text = textOf(response);
        expect([validate(JSON.parse(text)), validate.errors, text]).toEqual([true, null, text]);
        expect(response['status']).toBe('completed');
        expectDeltas(events, text);
      },
    );

    it('simulated output is an object where only JSON is asked for', async () => {
      const { response, events } = await ask({ input: 'JSON, please.', text: { format: { type: 'json_object' } } });
      const text = textOf(response);
      expect(JSON.parse(text)).toEqual(expect.objectContaining({}));
      expect(text).toMatch(/^\{.+\}$/);
      expectDeltas(events, text);
    });

    it.each<[name: string, schema: unknown]>([
      ['a type nobody knows', closed({ a: { type: 'strin' } })],
      ['a keyword of the wrong type', closed({ a: { type: 'string', minLength: 'long' } })],
      ['a reference to nowhere', closed({ a: { $ref: '#/$defs/missing' } })],
      ['a reference to another place', closed({ a: { $ref: 'http://127.0.0.1:9/schema.json' } })],
      ['a broken pattern', closed({ a: { type: 'string', pattern: '([' } })],
      ['a contradiction', closed({ a: { type: 'integer', minimum: 5, maximum: 4 } })],
      ['endless recursion', closed({ a: { $ref: '#' } })],
      ['an empty enum', closed({ a: { enum: [] } })],
      ['nothing at all', { not: {} }],
    ])('structured output is refused where nothing can fit: %s', async (_name, schema) => {
      await expect(ask({ text: formatOf(schema) })).rejects.toMatchObject({
        name: 'Refusal',
        status: 400,
        body: {
          error: { code: 'invalid_json_schema', type: 'invalid_request_error', param: 'text.format.schema' },
        },
      });
    });
  });

  describe('reasoning.encrypted_content', () => {
    const include = ['reasoning.encrypted_content'];
    const reasoningOf = ({ response }: TurnResult): OutputItem | undefined =>
      itemsOf(response).find(({ type }) => type === 'reasoning');

    it.each([
      ['included', { include }],
      ['included and not stored', { include, store: false }],
      ['not included', {}],
      ['not included, but something else is', { include: ['message.output_text.logprobs'] }],
      ['not stored', { store: false }],
    ])('reasoning.encrypted_content is there where it is %s', async (_name, body) => {
      const reasoning = reasoningOf(await ask({ model: 'gpt-5', ...body }));
      expect(reasoning).toMatchObject({ type: 'reasoning', summary: [], encrypted_content: OPAQUE });
    });

    it('reasoning.encrypted_content is there when the item is done, and not before', async () => {
      const { events = [], response } = await ask({ model: 'gpt-5' });
      const items = events.filter(({ output_index: index }) => index === 0).map(({ item }) => item);
      expect(items).toHaveLength(events.length === 0 ? 0 : 2);
      if (items.length > 0) expect(items[0]).not.toHaveProperty('encrypted_content');
      if (items.length > 0) expect(items[1]).toEqual(itemsOf(response)[0]);
    });

    it('reasoning.encrypted_content is opaque, and another one for another thought', async () => {
      const answers = await Promise.all(['One', 'Two'].map((input) => ask({ model: 'gpt-5', include, input })));
      const contents = answers.map((answer) => reasoningOf(answer)?.encrypted_content);
      for (const content of contents) expect(content).toEqual(OPAQUE);
      expect(new Set(contents).size).toBe(2);
    });

    it('reasoning.encrypted_content is not there where the model does not reason', async () => {
      const { response } = await ask({ include });
      expect(itemsOf(response).map(({ type }) => type)).toEqual(['message']);
    });

    it('reasoning.encrypted_content can be replayed, and counts among the input', async () => {
      const user = { role: 'user', content: 'Well?' };
      const settings = { model: 'gpt-5', include, store: false };
      const { response } = await ask({ ...settings, input: [user] });
      const history = [user, ...itemsOf(response), { role: 'user', content: 'And then?' }];
      const replayed = await ask({ ...settings, input: history });
      expect(replayed.response['status']).toBe('completed');
      const stripped = history.map((item) => ({ ...item, encrypted_content: undefined }));
      const without = await ask({ ...settings, input: stripped });
      expect(inputTokens(replayed)).toBeGreaterThan(inputTokens(without));
    });
  });

  describe('tokens of the input', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };
    const file = { type: 'input_file', filename: 'a.pdf' };
    const count = async (...content: readonly object[]): Promise<number> =>
      inputTokens(
        await ask({ input: [{ role: 'user', content: [{ type: 'input_text', text: 'See.' }, ...content] }] }),
      );

    it.each<[name: string, more: readonly object[], less: readonly object[], tokens: number]>([
      ['an image', [image], [], 765],
      ['an image in detail', [{ ...image, detail: 'high' }], [], 765],
      ['an image at a glance', [{ ...image, detail: 'low' }], [], 85],
      ['two images', [image, image], [image], 765],
      ['an image elsewhere', [{ type: 'input_image', image_url: 'https://example.com/a.png' }], [], 765],
      [
        'a file by its size',
        [{ ...file, file_data: 'A'.repeat(4000) }],
        [{ ...file, file_data: 'A'.repeat(400) }],
        900,
      ],
    ])('tokens of the input count %s', async (_name, more, less, tokens) => {
      expect((await count(...more)) - (await count(...less))).toBe(tokens);
    });

    it('tokens of the input count an image that a tool gives', async () => {
      const first = await ask({ tools: [walk] });
      const [call] = itemsOf(first.response);
      const answer = async (output: unknown): Promise<number> => {
        const item = { type: 'function_call_output', call_id: call?.call_id, output };
        return inputTokens(await ask({ previous_response_id: first.response.id, tools: [walk], input: [item] }));
      };
      const text = { type: 'input_text', text: 'See.' };
      expect((await answer([text, image])) - (await answer([text]))).toBe(765);
    });
  });
});

function expectDeltas(events: TurnResult['events'], text: string): void {
  if (events === undefined) return;
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => String(delta));
  expect(deltas.length).toBeGreaterThan(5);
  expect(deltas.join('')).toBe(text);
}
