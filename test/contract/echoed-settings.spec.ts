import { describe, expect, it } from '@jest/globals';

import { ModelProvider } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startRoutedService } from '../support/routing/routed-service.js';
import { JSON_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const reasoning = (over: object): object => ({
  context: 'all_turns',
  effort: null,
  mode: 'standard',
  summary: null,
  ...over,
});

/** What a request says of reasoning, and what the response shows. */
const REASONING: readonly (readonly [name: string, body: object, shown: object])[] = [
  ['the effort of a model that reasons', { model: 'o3' }, { effort: 'medium' }],
  ['the effort in place of null', { model: 'gpt-5', reasoning: { effort: null } }, { effort: 'medium' }],
  ['the effort of a model that only reasons when asked to', { model: 'simulator' }, { effort: 'none' }],
  ['no effort of a model that cannot reason', { model: 'gpt-4.1' }, {}],
  ['the effort that was sent', { model: 'o3', reasoning: { effort: 'low' } }, { effort: 'low' }],
  ['what was sent', { reasoning: { summary: 'auto', mode: 'pro' } }, { summary: 'auto', mode: 'pro' }],
  ['the context that auto stands for', { reasoning: { context: 'auto' } }, { context: 'all_turns' }],
  ['another context', { reasoning: { context: 'current_turn' } }, { context: 'current_turn' }],
  ['the summary by its older name', { reasoning: { generate_summary: 'concise' } }, { summary: 'concise' }],
  [
    'the summary by its present name',
    { reasoning: { summary: 'auto', generate_summary: 'concise' } },
    { summary: 'auto' },
  ],
  ['nothing unknown', { reasoning: { scope: 'auto' } }, {}],
];

describe('the settings that a response shows', () => {
  const service = useService({});

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it.each(REASONING)('the settings that a response shows have %s', async (_, body, shown) => {
      const { response, events } = await transport.run(service, { model: 'gpt-4.1', input: 'Hi', ...body });
      expect(response['reasoning']).toEqual(reasoning(shown));
      if (events !== undefined) expect(events[0]).toMatchObject({ response: { reasoning: reasoning(shown) } });
    });
  });

  it('the tools that a response shows have every member of a function', async () => {
    const schema = { type: 'object' };
    const tools = [
      { type: 'function', name: 'f' },
      { type: 'function', name: 'g', output_schema: schema },
      { type: 'custom', name: 'h' },
    ];
    const rest = { description: null, parameters: null, strict: false };
    const response = await service.api.create({ model: 'gpt-4.1', tools });
    expect(response['tools']).toEqual([
      { type: 'function', name: 'f', ...rest, output_schema: null },
      { type: 'function', name: 'g', ...rest, output_schema: schema },
      { type: 'custom', name: 'h' },
    ]);
  });

  it('the settings that a response shows cost no tokens where the request does not have them', async () => {
    const tokens = async (tool: object): Promise<unknown> => {
      const { usage } = await service.api.create({ model: 'gpt-4.1', tools: [tool], tool_choice: 'none' });
      return (usage as { readonly input_tokens: number }).input_tokens;
    };
    const whole = { type: 'function', name: 'f', description: null, parameters: null, strict: false };
    expect(await tokens({ type: 'function', name: 'f' })).toBe(await tokens({ ...whole, output_schema: null }));
    expect(await tokens(whole)).toBeLessThan((await tokens({ ...whole, output_schema: {} })) as number);
  });
});

/** A model that always reasons a little, if it is not told otherwise. */
@ModelProvider('thinker')
class ThinkingProvider extends ScriptedProvider {
  override find(model: string): ReturnType<ScriptedProvider['find']> {
    return { ...super.find(model), defaultReasoningEffort: 'low' };
  }

  override async models(): Promise<readonly ReturnType<ScriptedProvider['find']>[]> {
    return [this.find('thinker-1')];
  }
}

describe('a model with an effort of its own', () => {
  const service = useService({ providers: [ThinkingProvider] });
  const effortOf = ({ reasoning: shown }: Readonly<Record<string, unknown>>): unknown =>
    (shown as { readonly effort: unknown }).effort;

  it('a model with an effort of its own is given it, and the response shows it', async () => {
    expect(effortOf(await service.api.create({ model: 'thinker-1' }))).toBe('low');
    expect(effortOf(await service.api.create({ model: 'another', reasoning: { effort: 'high' } }))).toBe('high');
    const [turn] = service.app.get(ThinkingProvider).turns;
    expect(turn).toMatchObject({ settings: { reasoning: { effort: 'low' } }, parameters: { model: 'thinker-1' } });
    expect(turn?.parameters.reasoning).toBeUndefined();
  });

  const routed = useService(() =>
    startRoutedService({
      upstreams: { other: {} },
      providers: [ThinkingProvider],
      models: [
        { name: 'routed', provider: 'thinker', model: 'thinker-1' },
        { name: 'narrowed', provider: 'thinker', model: 'thinker-1', reasoning_efforts: ['high'] },
        { name: 'silent', provider: 'other' },
      ],
    }),
  );

  it.each([
    ['routed', 'low'],
    ['narrowed', null],
    ['silent', null],
  ])('the effort of a model is shown for the name %s: %s', async (model, effort) => {
    const { response } = await JSON_TRANSPORT.run(routed, { model, input: 'Hi' });
    expect(effortOf(response)).toBe(effort);
  });
});
