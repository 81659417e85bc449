import { describe, expect, it } from '@jest/globals';

import { ModelProvider, TOLERATED_RULES, type ToleratedRule } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startRoutedService } from '../support/routing/routed-service.js';
import { closed, word } from '../support/schemas.js';
import type { Service } from '../support/service.js';
import { JSON_TRANSPORT, REFUSED_TURNS } from '../support/transports.js';
import type { StrictCase } from './strictness-case.js';
import { MEDIA_CASES, withPart } from './strictness-media.js';
import { SCHEMA_CASES } from './strictness-schemas.js';

const REQUIRED = {
  code: null,
  param: 'tool_choice',
  message: "Tool choice 'required' must be specified with 'tools' parameter.",
};

const JSON_MISSING = {
  code: null,
  param: 'input',
  message:
    "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
};

const OBJECT = { text: { format: { type: 'json_object' } } };

const CASES: readonly StrictCase[] = [
  ...MEDIA_CASES,
  ...SCHEMA_CASES,
  { name: 'a call without tools', rule: 'required_tools', body: { tool_choice: 'required' }, error: REQUIRED },
  { name: 'a call of no tool', rule: 'required_tools', body: { tool_choice: 'required', tools: [] }, error: REQUIRED },
  { name: 'JSON that was not asked for', rule: 'json_object', body: OBJECT, error: JSON_MISSING },
];

const caseOf = (rule: ToleratedRule): StrictCase => CASES.find((strict) => strict.rule === rule) as StrictCase;
const ONE_EACH = TOLERATED_RULES.map((rule) => [rule, caseOf(rule)] as const);

/** Takes what OpenAI would refuse. */
@ModelProvider('lenient')
class LenientProvider extends ScriptedProvider {
  override readonly tolerates = new Set(TOLERATED_RULES);
}

const run = async (service: Service, model: string, body: object): Promise<string> =>
  (await JSON_TRANSPORT.run(service, { model, input: 'Hi', ...body })).response.status;

describe('a model with the rules of OpenAI', () => {
  const service = useService({});

  describe.each(REFUSED_TURNS)('over %s', (_, refuse) => {
    it.each(CASES)('a model with the rules of OpenAI refuses $name', async ({ body, error }) => {
      const refused = await refuse(service, { model: 'gpt-4.1', input: 'Hi', ...body });
      expect(refused).toEqual({ status: 400, retryAfter: null, error: { type: 'invalid_request_error', ...error } });
    });
  });

  it.each<[string, object]>([
    ['an image by its URL', withPart({ type: 'input_image', image_url: 'https://example.com/a.png?b=c' })],
    ['an image at a host beyond ASCII', withPart({ type: 'input_image', image_url: 'https://bücher.example/a.png' })],
    ['an image by its data', withPart({ type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' })],
    ['an image with a parameter', withPart({ type: 'input_image', image_url: 'DATA:image/JPEG;q=1;base64,/9j/4A==' })],
    ['an image by its id', withPart({ type: 'input_image', file_id: 'file-1', image_url: null })],
    ['a file by its data', withPart({ type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=' })],
    ['a file in base64 alone', withPart({ type: 'input_file', file_data: 'JVBERi0=', filename: 'a.pdf' })],
    ['a file by its URL', withPart({ type: 'input_file', file_url: 'https://example.com/a.pdf' })],
    ['a file by its id', withPart({ type: 'input_file', file_id: 'file-1', file_data: null })],
    ['an open schema that is not strict', { tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }] }],
    ['a strict function without parameters', { tools: [{ type: 'function', name: 'f', strict: true }] }],
    [
      'every keyword of the subset',
      {
        tools: [
          {
            type: 'function',
            name: 'f',
            strict: true,
            parameters: {
              ...closed({
                a: { ...word, pattern: '^a', format: 'date-time', description: 'A.', title: 'a' },
                b: {
                  type: 'integer',
                  minimum: 1,
                  maximum: 9,
                  multipleOf: 1,
                  exclusiveMinimum: 0,
                  exclusiveMaximum: 10,
                },
                c: { type: 'array', items: { $ref: '#/$defs/d' }, minItems: 1, maxItems: 2 },
                d: { anyOf: [{ $ref: '#/$defs/d' }, { type: 'null' }], description: 'D.' },
                e: { enum: ['a', 1, null] },
                f: { const: 'f' },
                default: { type: ['string', 'null'] },
                minLength: closed({}),
              }),
              $schema: 'https://json-schema.org/draft/2020-12/schema',
              $defs: { d: closed({ x: { type: 'boolean' } }) },
            },
          },
        ],
      },
    ],
    ['a required call of a tool', { tools: [{ type: 'function', name: 'f' }], tool_choice: 'required' }],
    [
      'a required call of a tool in the input',
      {
        tool_choice: 'required',
        input: [
          { type: 'additional_tools', role: 'developer', tools: [] },
          { role: 'user', content: 'Hi' },
        ],
      },
    ],
    ['JSON that the input asks for', { ...OBJECT, input: 'Write some JSON.' }],
    [
      'JSON that a part asks for',
      { ...OBJECT, input: [{ role: 'user', content: [{ type: 'input_text', text: 'json?' }] }] },
    ],
    ['JSON that the instructions ask for', { ...OBJECT, instructions: 'Answer in Json.' }],
  ])('a model with the rules of OpenAI takes %s', async (_, body) => {
    expect(await run(service, 'gpt-4.1', body)).toBe('completed');
  });

  it('a model with the rules of OpenAI takes what an earlier response may have asked for', async () => {
    const first = await service.api.create({ model: 'gpt-4.1', input: 'I want JSON.' });
    const next = { previous_response_id: first.id, ...OBJECT, tool_choice: 'required' };
    expect(await run(service, 'gpt-4.1', next)).toBe('completed');
  });

  it('a model with the rules of OpenAI names the place of a function within a namespace and of one in the input', async () => {
    const tool = { type: 'function', name: 'f', strict: true, parameters: {} };
    const namespace = { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g' }, tool] };
    const added = { type: 'additional_tools', role: 'developer', tools: [tool] };
    const paramOf = async (body: object): Promise<unknown> => {
      const { body: answer } = await service.api.post('responses', { model: 'gpt-4.1', input: 'Hi', ...body });
      return (answer['error'] as { readonly param: unknown }).param;
    };
    expect(await paramOf({ tools: [namespace] })).toBe('tools[0].tools[1].parameters');
    expect(await paramOf({ input: [added] })).toBe('input[0].tools[0].parameters');
  });

  it('a model with the rules of OpenAI reports the first violation, whichever rule it breaks', async () => {
    const { body } = caseOf('images');
    const answer = await service.api.post('responses', {
      model: 'gpt-4.1',
      ...body,
      tool_choice: 'required',
      store: 5,
    });
    expect(answer.body).toMatchObject({ error: { param: 'input[0].content[1].image_url' } });
    const later = await service.api.post('responses', {
      model: 'gpt-4.1',
      input: 'Hi',
      tool_choice: 'required',
      store: 5,
    });
    expect(later.body).toMatchObject({ error: { param: 'store' } });
  });
});

describe('a provider that tolerates more', () => {
  const service = useService({ providers: [LenientProvider] });

  it.each(CASES)('a provider that tolerates more takes $name', async ({ body }) => {
    expect(await run(service, 'any', body)).toBe('completed');
  });

  it('a provider that tolerates more still refuses wrong types', async () => {
    const answer = await service.api.post('responses', {
      model: 'any',
      ...withPart({ type: 'input_image', image_url: 5 }),
    });
    expect(answer.body).toMatchObject({ error: { code: 'invalid_type', param: 'input[0].content[1].image_url' } });
  });
});

describe('an entry of PROVIDERS_FILE that tolerates more', () => {
  const service = useService(() =>
    startRoutedService({
      upstreams: { strict: {}, lenient: { tolerates: TOLERATED_RULES } },
      models: [
        { name: 'one', provider: 'lenient' },
        { name: 'alias', alias: 'one' },
        { prefix: 'p/', provider: 'lenient', strip: true },
        { name: 'all', upstreams: [{ provider: 'lenient' }, { provider: 'lenient', model: 'other' }] },
        { name: 'some', upstreams: [{ provider: 'lenient' }, { provider: 'strict' }] },
        { name: 'none', provider: 'strict' },
      ],
    }),
  );

  /** The path at which a request is refused by OpenAI's rules; undefined if the provider is asked. */
  const refusalOf = async (model: string, { body, error }: StrictCase): Promise<string | undefined> => {
    const answer = await service.api.post('responses', { model, input: 'Hi', ...body });
    const { message, param } = (answer.body['error'] ?? {}) as { readonly message?: string; readonly param?: string };
    return message === error.message ? param : undefined;
  };

  it.each(['one', 'alias', 'p/x', 'all'])('the model %s tolerates what its entry says', async (model) => {
    for (const [, strict] of ONE_EACH) expect(await refusalOf(model, strict)).toBeUndefined();
  });

  it.each(['some', 'none', 'unknown'])('the model %s tolerates nothing more', async (model) => {
    for (const [, strict] of ONE_EACH) expect(await refusalOf(model, strict)).toBe(strict.error.param);
  });

  it('an entry of PROVIDERS_FILE may tolerate one rule and not another, and another one after a reload', async () => {
    for (const [tolerated] of ONE_EACH) {
      await service.write({ settings: { lenient: { tolerates: [tolerated] } } });
      await service.reload();
      for (const [rule, strict] of ONE_EACH) {
        expect([rule, await refusalOf('one', strict)]).toEqual([
          rule,
          rule === tolerated ? undefined : strict.error.param,
        ]);
      }
    }
  });
});
