import Anthropic from '@anthropic-ai/sdk';
import type { MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages';
import { describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';

import { ModelError } from '../../src/index.js';
import { useService } from '../support/describe-service.js';
import { anthropic, BEHIND_KEY, HELLO, LOOK } from './anthropic.js';

const service = useService(BEHIND_KEY);
const client = (options: object = {}): Anthropic => anthropic(service, options);

const lastTurn = (): (typeof service.provider.turns)[number] => {
  const turn = service.provider.turns.at(-1);
  if (turn === undefined) throw new Error('the model was not asked');
  return turn;
};

describe('a request for a message', () => {
  it('a request for a message becomes a turn with its texts, images, documents, calls and results', async () => {
    const png = 'iVBORw0KGgo=';
    await client().messages.create({
      ...HELLO,
      system: [
        { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'Always.' },
      ],
      metadata: { user_id: 'user-1' },
      tools: [LOOK],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See.' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
            { type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'A note.' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Of another service.', signature: 'EqQBCkYIBxgC' },
            { type: 'redacted_thinking', data: 'EqQBCkYIBxgC' },
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
            { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: 'A sea.' },
            {
              type: 'tool_result',
              tool_use_id: 'toolu_2',
              is_error: true,
              content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }],
            },
            { type: 'text', text: 'Go on.' },
          ],
        },
      ],
    });
    const { settings, context } = lastTurn();
    expect(settings).toMatchObject({
      instructions: 'Be brief.\n\nAlways.',
      user: 'user-1',
      tool_choice: 'required',
      parallel_tool_calls: false,
      max_output_tokens: 100,
      store: false,
      tools: [{ type: 'function', name: 'look', parameters: LOOK.input_schema }],
    });
    const image = { type: 'input_image', image_url: `data:image/png;base64,${png}` };
    expect([...context]).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'See.' },
          image,
          { type: 'input_image', image_url: 'https://example.com/a.png' },
          { type: 'input_file', filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
          { type: 'input_text', text: 'Notes' },
          { type: 'input_text', text: 'A note.' },
        ],
      },
      { role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'function_call', call_id: 'toolu_1', arguments: '{"at":1}' },
      { type: 'function_call', call_id: 'toolu_2', arguments: '{}' },
      { type: 'function_call_output', call_id: 'toolu_1', output: 'A sea.' },
      { type: 'function_call_output', call_id: 'toolu_2', output: [{ type: 'input_text', text: 'Error:' }, image] },
      { role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] },
    ]);
  });

  it('a request for a message may ask for a single token', async () => {
    await client().messages.create({ ...HELLO, max_tokens: 1 });
    expect(lastTurn().settings.max_output_tokens).toBe(1);
  });

  it('a request for a message asks for an effort and a form of the answer', async () => {
    const schema = { type: 'object', properties: {}, required: [], additionalProperties: false };
    const output = { effort: 'high' as const, format: { type: 'json_schema' as const, schema } };
    await client().messages.create({ ...HELLO, output_config: output, tool_choice: { type: 'none' } });
    expect(lastTurn().settings).toMatchObject({
      reasoning: { effort: 'high' },
      text: { format: { type: 'json_schema', schema } },
      tool_choice: 'none',
    });
  });

  it.each<[string, object, string]>([
    ['without max_tokens', { max_tokens: undefined }, "'max_tokens'"],
    ['without messages', { messages: [] }, "'messages'"],
    ['of an unknown role', { messages: [{ role: 'tool', content: 'x' }] }, 'messages[0]:'],
    ['with a block that cannot be said', { messages: [{ role: 'user', content: [{ type: 'video' }] }] }, 'content[0]'],
    ['with a tool of Anthropic', { tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools[0].type'],
    ['with a member of the other API', { store: true }, "'store'"],
    ['with a misspelt system prompt', { sytem: 'a' }, "Did you mean 'system'?"],
    ['with misspelt stops', { stop_sequence: ['a'] }, "Did you mean 'stop_sequences'?"],
    [
      'with less thinking than Anthropic knows',
      { thinking: { type: 'enabled', budget_tokens: 1023 } },
      'budget_tokens',
    ],
    ['with misspelt thinking', { thinkng: { type: 'adaptive' } }, "Did you mean 'thinking'?"],
    ['with a container', { container: 'c' }, "'container'"],
    ['with a member of Chat Completions', { stop: 'x' }, "'stop'"],
    [
      'with an image that is none',
      {
        messages: [
          { role: 'user', content: 'x' },
          {
            role: 'user',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '!' } }],
          },
        ],
      },
      "'messages[1]",
    ],
    ['with too many stop sequences', { stop_sequences: Array.from({ length: 17 }, String) }, "'stop_sequences'"],
    ['with a stop sequence that is too long', { stop_sequences: ['a', 'b'.repeat(1001)] }, "'stop_sequences[1]'"],
    ['that says nothing', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }, 'nothing is said'],
    [
      'with a document that is none, behind a text that says nothing',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: '' },
              { type: 'text', text: 'x' },
              { type: 'document', title: 'A', source: { type: 'base64', media_type: 'a b', data: '!' } },
            ],
          },
        ],
      },
      "'messages[0].content[2].source",
    ],
    [
      'with an image that is none in a result',
      {
        messages: [
          { role: 'user', content: 'x' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'look', input: {} }] },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'call_1',
                is_error: true,
                content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '!' } }],
              },
            ],
          },
        ],
      },
      "'messages[2].content[0].content[0].source",
    ],
    ['that chooses a tool that is not there', { tool_choice: { type: 'tool', name: 'look' } }, 'look'],
  ])('a request for a message is refused %s', async (_, body, named) => {
    const answer = await client()
      .messages.create({ ...HELLO, ...body } as MessageCreateParamsNonStreaming)
      .catch((error: unknown) => error);
    if (!(answer instanceof Anthropic.BadRequestError)) throw new Error('it was not refused');
    expect(answer.error).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
    expect(answer.message).toContain(named);
    expect(answer.requestID).toMatch(/^req_/);
  });

  it.each([
    ['in a stream', true],
    ['in one piece', false],
  ])('a request for a message is told in its own terms what the model refuses of it, %s', async (_, stream) => {
    service.provider.play(async function* () {
      yield { type: 'text', delta: stream ? 'Half' : '' };
      throw new ModelError('invalid_image', "Invalid 'input[1].content[0].image_url': it is no image.", {
        status: 400,
      });
    });
    const image = { type: 'image' as const, source: { type: 'url' as const, url: 'https://example.com/a.png' } };
    const messages = [
      ...HELLO.messages,
      { role: 'user' as const, content: [{ type: 'text' as const, text: '' }, image] },
    ];
    const refused = stream
      ? client()
          .messages.stream({ ...HELLO, messages })
          .finalMessage()
      : client().messages.create({ ...HELLO, messages });
    await expect(refused).rejects.toThrow(/'messages\[1\]\.content\[1\]\.source'/);
  });

  it('a request for a message may have a result that is null', async () => {
    await client().messages.create({
      ...HELLO,
      messages: [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: null as never }] },
      ],
    });
    expect(lastTurn().context.at(-1)).toMatchObject({ type: 'function_call_output', output: '' });
  });

  it('a request for a message counts its tokens without being run', async () => {
    const turns = service.provider.turns.length;
    const { max_tokens: _, ...counted } = HELLO;
    const { input_tokens: tokens } = await client().messages.countTokens({ ...counted, tools: [LOOK] });
    const { input_tokens: fewer } = await client().messages.countTokens(counted);
    expect(tokens).toBeGreaterThan(fewer);
    expect(service.provider.turns.length).toBe(turns);
  });

  it('a request for a message stores its response only when it names a session', async () => {
    const stored = await client().messages.create(HELLO, { headers: { 'x-session-id': 'of-claude' } });
    const other = await client().messages.create(HELLO);
    const openai = service.client({ apiKey: 'key-of-acme' });
    const ids = [stored, other].map(({ id }) => id.replace('msg_', 'resp_'));
    await expect(openai.responses.retrieve(ids[0] ?? '')).resolves.toMatchObject({ output_text: 'ok' });
    await expect(openai.responses.retrieve(ids[1] ?? '')).rejects.toMatchObject({ status: 404 });
  });
});

describe('a beta', () => {
  it('a beta is ignored, which is logged once', async () => {
    const lines: string[] = [];
    const logged = jest
      .spyOn(Logger.prototype, 'warn')
      .mockImplementation((line: unknown) => void lines.push(String(line)));
    try {
      for (let times = 0; times < 2; times += 1) {
        await client().messages.create(HELLO, { headers: { 'anthropic-beta': 'one-2026-01-01,two-2026-01-01' } });
      }
    } finally {
      logged.mockRestore();
    }
    expect(lines.map((line) => /"(\w+)-2026-01-01"/.exec(line)?.[1])).toEqual(['one', 'two']);
  });
});
