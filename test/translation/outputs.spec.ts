import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Translation } from '../support/translation/translation.js';
import { functionCall, functionOutput, user } from '../support/translation/user-items.js';

const text = (words: string): object => ({ type: 'input_text', text: words });
const PICTURE = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'original' };
const SENT_PICTURE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'high' } };

const calls = (...ids: readonly string[]): object => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
});
const tool = (id: string, content: unknown): object => ({ role: 'tool', tool_call_id: id, name: 'look', content });

describe('outputs of tools for an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start({ seeing: { capabilities: { tool_images: true } } });
  });

  afterAll(() => translation.close());

  it.each<[string, unknown, string]>([
    ['a text', 'sunny', 'sunny'],
    ['an empty text', '', ''],
    ['JSON', '{"sky":"blue"}', '{"sky":"blue"}'],
    ['a part', [text('sunny')], 'sunny'],
    ['several parts', [text('sunny'), text('and warm')], 'sunny\nand warm'],
    ['no parts', [], ''],
  ])('outputs of tools are texts: %s', async (_, output, sent) => {
    const messages = await translation.messages({
      input: [functionCall('call_1', 'look'), functionOutput('call_1', output)],
    });
    expect(messages).toEqual([calls('call_1'), tool('call_1', sent)]);
  });

  it('outputs of tools keep pictures where tool messages may have them', async () => {
    const input = [functionCall('call_1', 'look'), functionOutput('call_1', [text('Here:'), PICTURE])];
    expect(await translation.messages({ model: 'seeing', input })).toEqual([
      calls('call_1'),
      tool('call_1', [{ type: 'text', text: 'Here:' }, SENT_PICTURE]),
    ]);
  });

  it('outputs of tools show pictures in a message of the user, behind all outputs of the answer, where they may not', async () => {
    const input = [
      functionCall('call_1', 'look'),
      functionCall('call_2', 'look'),
      functionCall('call_3', 'look'),
      functionOutput('call_1', [text('Here:'), PICTURE]),
      functionOutput('call_2', 'nothing'),
      functionOutput('call_3', [PICTURE]),
      user('Well?'),
    ];
    const messages = await translation.messages({ input });
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool', 'tool', 'user', 'user']);
    expect(messages[1]).toEqual(tool('call_1', 'Here:'));
    expect(messages[2]).toEqual(tool('call_2', 'nothing'));
    // An empty text would say that the tool gave nothing.
    expect(messages[3]).toEqual(tool('call_3', expect.stringMatching(/./)));
    expect(messages[4]?.['content']).toEqual([
      { type: 'text', text: 'Output of look:' },
      SENT_PICTURE,
      { type: 'text', text: 'Output of look:' },
      SENT_PICTURE,
    ]);
    expect(messages[5]).toEqual({ role: 'user', content: 'Well?' });
  });

  it('outputs of tools send files as they send pictures', async () => {
    const file = { type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' };
    const input = [functionCall('call_1', 'look'), functionOutput('call_1', [file])];
    const messages = await translation.messages({ input });
    expect(messages.at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'Output of look:' },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' } },
      ],
    });
  });

  it('outputs of custom tools may be parts as well', async () => {
    const input = [
      { type: 'custom_tool_call', call_id: 'call_1', name: 'exec', input: 'look()' },
      { type: 'custom_tool_call_output', call_id: 'call_1', output: [text('Here:'), PICTURE] },
    ];
    const messages = await translation.messages({ model: 'seeing', input });
    expect(messages.at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 'call_1',
      name: 'exec',
      content: [{ type: 'text', text: 'Here:' }, SENT_PICTURE],
    });
  });

  it('outputs of calls that another provider ran are outputs like any other', async () => {
    const call = {
      type: 'mcp_call',
      id: 'mcp_1',
      server_label: 'docs',
      name: 'search',
      arguments: '{"q":"x"}',
      output: 'found',
    };
    expect(await translation.messages({ input: [user('Search.'), call, user('Well?')] })).toEqual([
      { role: 'user', content: 'Search.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'mcp_1', type: 'function', function: { name: 'search', arguments: '{"q":"x"}' } }],
      },
      { role: 'tool', tool_call_id: 'mcp_1', name: 'search', content: 'found' },
      { role: 'user', content: 'Well?' },
    ]);
  });

  it.each<[string, object, object]>([
    [
      'shell_call',
      { action: { commands: ['ls'] }, status: 'completed' },
      { output: [{ stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exit_code: 0 } }] },
    ],
    [
      'apply_patch_call',
      { operation: { type: 'delete_file', path: 'a.txt' }, status: 'completed' },
      { status: 'failed', output: 'no a.txt' },
    ],
  ])('outputs of %s say everything that the client says', async (type, call, output) => {
    const input = [
      { type, call_id: 'call_1', ...call },
      { type: `${type}_output`, call_id: 'call_1', ...output },
    ];
    const [, answer] = await translation.messages({ input });
    const content = JSON.parse(String(answer?.['content'])) as unknown;
    expect(content).toEqual(type === 'shell_call' ? (output as { output: unknown }).output : output);
  });
});
