import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { argumentsOf, arbitraryConversation, outputOf } from '../support/translation/arbitrary-conversation.js';
import { readCalls, readSaid } from './call-groups.js';
import { functionsOf, Translation } from '../support/translation/translation.js';
import { assistant, functionCall, functionOutput, functionTool, user } from '../support/translation/user-items.js';

const call = (id: string, name = 'look', json = '{}'): object => ({
  id,
  type: 'function',
  function: { name, arguments: json },
});
const tool = (id: string, content: unknown, name = 'look'): object => ({
  role: 'tool',
  tool_call_id: id,
  name,
  content,
});

describe('calls and outputs for an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start({
      nine: { capabilities: { call_ids: 'nine' } },
      nameless: { capabilities: { tool_names: false } },
    });
  });

  afterAll(() => translation.close());

  it.each(['generic', 'nine', 'nameless'])(
    'calls and outputs stay together, in order and whole, however the client ordered them (%s)',
    async (model) => {
      const check = async ({
        items,
        said,
        callIds,
      }: {
        items: readonly object[];
        said: readonly string[];
        callIds: readonly string[];
      }): Promise<void> => {
        const messages = await translation.messages({ model, input: items });
        const calls = readCalls(messages, model !== 'nameless');
        const ids = new Map(calls.map(({ id }, index) => [id, callIds[index] ?? '']));
        expect(calls).toHaveLength(callIds.length);
        expect(ids.size).toBe(callIds.length);
        for (const [sent, callId] of ids) {
          if (model === 'nine') expect(sent).toMatch(/^[a-zA-Z0-9]{9}$/);
          else expect(sent).toBe(callId);
        }
        expect(readSaid(messages).map((line) => line.replace(/(?<= of ).*$/s, (id) => ids.get(id) ?? id))).toEqual(
          said,
        );
        for (const [index, { arguments: json, output }] of calls.entries()) {
          expect(json).toContain(JSON.stringify(argumentsOf(callIds[index] ?? '')));
          expect(output).toContain(outputOf(callIds[index] ?? ''));
        }
      };
      await fc.assert(fc.asyncProperty(arbitraryConversation, check), { numRuns: 40 });
    },
  );

  it('the calls of one answer stay in one message, with what was said before them', async () => {
    const input = [
      user('How is Bern, and what time is it?'),
      assistant('Let me see.'),
      functionCall('call_1', 'get_weather', '{"city":"Bern"}'),
      functionCall('call_2', 'get_time', '{}'),
      functionOutput('call_2', 'noon'),
      functionOutput('call_1', 'sunny'),
    ];
    expect(await translation.messages({ input })).toEqual([
      { role: 'user', content: 'How is Bern, and what time is it?' },
      {
        role: 'assistant',
        content: 'Let me see.',
        tool_calls: [call('call_1', 'get_weather', '{"city":"Bern"}'), call('call_2', 'get_time')],
      },
      tool('call_1', 'sunny', 'get_weather'),
      tool('call_2', 'noon', 'get_time'),
    ]);
  });

  it('calls are separate answers where outputs or words stand between', async () => {
    const input = [
      functionCall('call_1', 'look'),
      functionOutput('call_1', 'one'),
      functionCall('call_2', 'look'),
      functionOutput('call_2', 'two'),
      assistant('Again.'),
      functionCall('call_3', 'look'),
      functionOutput('call_3', 'three'),
    ];
    expect(await translation.messages({ input })).toEqual([
      { role: 'assistant', content: null, tool_calls: [call('call_1')] },
      tool('call_1', 'one'),
      { role: 'assistant', content: null, tool_calls: [call('call_2')] },
      tool('call_2', 'two'),
      { role: 'assistant', content: 'Again.', tool_calls: [call('call_3')] },
      tool('call_3', 'three'),
    ]);
  });

  it('calls that are asynchronous have an output at once, and their own where it came', async () => {
    const running = { ...functionCall('call_1', 'build'), async: true };
    const input = [
      user('Build it.'),
      running,
      functionCall('call_2', 'look'),
      functionOutput('call_2', 'two'),
      assistant('It runs.'),
      user('And now?'),
      functionOutput('call_1', 'built'),
      user('Well?'),
    ];
    const beginning = [
      { role: 'user', content: 'Build it.' },
      { role: 'assistant', content: null, tool_calls: [call('call_1', 'build'), call('call_2')] },
      tool('call_1', '(still running; the output follows in a later message)', 'build'),
      tool('call_2', 'two'),
      { role: 'assistant', content: 'It runs.' },
      { role: 'user', content: 'And now?' },
    ];
    expect(await translation.messages({ input: input.slice(0, 6) })).toEqual(beginning);
    expect(await translation.messages({ input })).toEqual([
      ...beginning,
      { role: 'user', content: 'Output of build, call call_1:\nbuilt' },
      { role: 'user', content: 'Well?' },
    ]);
    // Nothing has come between.
    expect(await translation.messages({ input: [running, functionOutput('call_1', 'built')] })).toEqual([
      { role: 'assistant', content: null, tool_calls: [call('call_1', 'build')] },
      tool('call_1', 'built', 'build'),
    ]);
  });

  it('calls go on along a stored chain', async () => {
    const first = await translation.turn(
      { input: 'Look twice.' },
      {
        text: 'I look.',
        toolCalls: [
          { name: 'look', arguments: '{"at":1}' },
          { name: 'look', arguments: '{"at":2}' },
        ],
      },
    );
    const input = [functionOutput('call_2', 'two'), functionOutput('call_1', 'one')];
    expect(await translation.messages({ previous_response_id: first.response.id, input })).toEqual([
      { role: 'user', content: 'Look twice.' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [call('call_1', 'look', '{"at":1}'), call('call_2', 'look', '{"at":2}')],
      },
      tool('call_1', 'one'),
      tool('call_2', 'two'),
    ]);
  });

  it('calls are told apart by their place when ids come again in later rounds', async () => {
    const input = [
      functionCall('call_1', 'look', '{"at":1}'),
      functionOutput('call_1', 'one'),
      user('Again.'),
      functionCall('call_1', 'look', '{"at":2}'),
      functionOutput('call_1', 'two'),
    ];
    const messages = await translation.messages({ input });
    expect(readCalls(messages)).toEqual([
      { id: 'call_1', name: 'look', arguments: '{"at":1}', output: 'one' },
      { id: 'call_1', name: 'look', arguments: '{"at":2}', output: 'two' },
    ]);
  });

  it('calls get other ids where a model repeats those of an earlier round', async () => {
    const toolCalls = [{ name: 'look', id: 'call_0', arguments: '{}' }];
    const first = await translation.turn({ input: 'Look.' }, { toolCalls });
    const input = [functionOutput('call_0', 'one')];
    const second = await translation.turn({ previous_response_id: first.response.id, input }, { toolCalls });
    const [made] = second.response['output'] as readonly { readonly call_id: string }[];
    expect(made?.call_id).not.toBe('call_0');
    const messages = await translation.messages({
      previous_response_id: second.response.id,
      input: [functionOutput(made?.call_id ?? '', 'two')],
    });
    expect(readCalls(messages).map(({ output }) => output)).toEqual(['one', 'two']);
  });

  it('calls keep ids that fit where only nine letters do', async () => {
    const input = [functionCall('abcDEF123', 'look'), functionOutput('abcDEF123', 'one')];
    expect(readCalls(await translation.messages({ model: 'nine', input }))).toMatchObject([{ id: 'abcDEF123' }]);
  });

  it('calls have the same nine letters in every turn', async () => {
    const input = [functionCall('call_1', 'look'), functionOutput('call_1', 'one')];
    const first = readCalls(await translation.messages({ model: 'nine', input }));
    const second = readCalls(await translation.messages({ model: 'nine', input: [user('Hello'), ...input] }));
    expect(second).toEqual(first);
  });

  it.each<[string, object, string]>([
    [
      'local shells',
      {
        type: 'local_shell_call',
        id: 'lsh_1',
        call_id: 'call_1',
        status: 'completed',
        action: { type: 'exec', command: ['ls'], env: {} },
      },
      'local_shell',
    ],
    [
      'searches',
      { type: 'tool_search_call', call_id: 'call_1', execution: 'client', arguments: { query: 'x' } },
      'tool_search',
    ],
  ])('calls have an output upstream though the client gave none: %s', async (_, item, name) => {
    const messages = await translation.messages({ input: [item, user('Never mind.')] });
    expect(readCalls(messages)).toMatchObject([{ id: 'call_1', name, output: expect.stringMatching(/./) as unknown }]);
    expect(messages.at(-1)).toEqual({ role: 'user', content: 'Never mind.' });
  });

  it('a request is refused when the client leaves a function call without output', async () => {
    const { status, error, wasAsked } = await translation.refusal({
      input: [functionCall('call_1', 'look'), user('Hi')],
    });
    expect({ status, wasAsked, param: error['param'] }).toEqual({ status: 400, wasAsked: false, param: 'input' });
  });

  it('calls do not exist for outputs without an id, which are told in the words of the user', async () => {
    const input = [
      user('Hello'),
      { type: 'function_call_output', call_id: null, output: 'a stray output' },
      assistant('I see.'),
      user('Well?'),
    ];
    const messages = await translation.messages({ input });
    expect(readCalls(messages)).toEqual([]);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'user']);
    expect(messages[1]?.['content']).toContain('a stray output');
  });

  it('calls do not exist for searches that a provider ran, and whatever has no id is not taken for their output', async () => {
    const search = { type: 'tool_search_call', call_id: null, execution: 'server', arguments: {}, status: 'completed' };
    const found = {
      type: 'tool_search_output',
      call_id: null,
      execution: 'server',
      tools: [functionTool('found_tool')],
    };
    const stray = { type: 'function_call_output', call_id: null, output: 'a stray output' };
    const input = [user('Hello'), stray, search, found, search, { ...found, tools: [] }, user('Well?')];
    const body = await translation.sent({ input });
    expect(body.messages?.map(({ role }) => role)).toEqual(['user', 'user', 'user']);
    expect(JSON.stringify(body.messages).split('a stray output')).toHaveLength(2);
    expect(functionsOf(body).map(({ name }) => name)).toEqual(['found_tool']);
  });
});
