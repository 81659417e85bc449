import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { functionsOf, refusedValue, Translation } from '../support/translation/translation.js';
import { functionTool, user } from '../support/translation/user-items.js';

const TOOLS = [
  functionTool('look'),
  functionTool('listen'),
  { type: 'custom', name: 'exec' },
  { type: 'namespace', name: 'crm', description: 'Customers.', tools: [functionTool('find')] },
  { type: 'shell' },
  { type: 'apply_patch' },
  { type: 'local_shell' },
  { type: 'web_search' },
];
const NAMES = ['look', 'listen', 'exec', 'crm__find', 'shell', 'apply_patch', 'local_shell'];

const named = (name: string): object => ({ type: 'function', function: { name } });
const allowed = (mode: string, ...tools: readonly object[]): object => ({ type: 'allowed_tools', mode, tools });
const NO_SEARCH =
  "This model cannot call the tool of type 'web_search'. This service runs it with WEB_SEARCH. An upstream with the Responses API would run it (kind: responses), " +
  "or a provider of the program that has it in 'hostedTools'. Choose another tool, or 'auto'.";
const LOOK = { type: 'function', name: 'look' };
const EXEC = { type: 'custom', name: 'exec' };

/** Choices of one tool, and its name upstream. */
const CHOICES: readonly (readonly [what: string, choice: object, name: string])[] = [
  ['a function', LOOK, 'look'],
  ['a custom tool', EXEC, 'exec'],
  ['a tool of a namespace', { type: 'function', name: 'find', namespace: 'crm' }, 'crm__find'],
  ['a tool of a namespace that is not named', { type: 'function', name: 'find' }, 'crm__find'],
  ['the shell', { type: 'shell' }, 'shell'],
  ['patches', { type: 'apply_patch' }, 'apply_patch'],
  ['the local shell', { type: 'local_shell' }, 'local_shell'],
];

describe('the choice of tools for an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start({
      knowing: { capabilities: { allowed_tools: true } },
      unnamed: { capabilities: { named_tool_choice: false } },
      toolless: { capabilities: { tools: false } },
    });
  });

  afterAll(() => translation.close());

  it.each(['none', 'auto', 'required'])('the choice of tools is sent as it came: %s', async (choice) => {
    const body = await translation.sent({ tools: TOOLS, tool_choice: choice });
    expect(body['tool_choice']).toBe(choice);
    expect(functionsOf(body).map(({ name }) => name)).toEqual(NAMES);
  });

  it.each([undefined, null])(
    'the choice of tools is left to the upstream where the client says nothing (%s)',
    async (choice) => {
      expect(await translation.sent({ tools: TOOLS, tool_choice: choice })).not.toHaveProperty('tool_choice');
    },
  );

  it.each(CHOICES)('the choice of tools names %s', async (_, choice, name) => {
    const body = await translation.sent({ tools: TOOLS, tool_choice: choice });
    expect(body['tool_choice']).toEqual(named(name));
    expect(functionsOf(body).map((offered) => offered['name'])).toEqual(NAMES);
  });

  it.each(CHOICES)(
    'the choice of tools leaves nothing but %s where the upstream cannot be told a name',
    async (_, choice, name) => {
      const body = await translation.sent({ model: 'unnamed', tools: TOOLS, tool_choice: choice });
      expect(body['tool_choice']).toBe('required');
      expect(functionsOf(body).map((offered) => offered['name'])).toEqual([name]);
    },
  );

  it('the choice of tools is the same for a tool that came along with the conversation', async () => {
    const input = [{ type: 'additional_tools', role: 'developer', tools: [functionTool('late')] }, user('Hello')];
    const body = await translation.sent({ input, tool_choice: { type: 'function', name: 'late' } });
    expect(body['tool_choice']).toEqual(named('late'));
  });

  describe('among allowed ones', () => {
    const SOME = [LOOK, EXEC, { type: 'shell' }, { type: 'function', name: 'find' }];
    const SOME_NAMES = ['look', 'exec', 'shell', 'crm__find'];

    it.each(['auto', 'required'])('a choice among allowed tools leaves only those (%s)', async (mode) => {
      const body = await translation.sent({ tools: TOOLS, tool_choice: allowed(mode, ...SOME) });
      expect(body['tool_choice']).toBe(mode);
      expect(
        functionsOf(body)
          .map(({ name }) => name)
          .toSorted(),
      ).toEqual(SOME_NAMES.toSorted());
    });

    it.each(['auto', 'required'])(
      'a choice among allowed tools is sent as it came where the upstream knows that (%s)',
      async (mode) => {
        const body = await translation.sent({ model: 'knowing', tools: TOOLS, tool_choice: allowed(mode, ...SOME) });
        expect(body['tool_choice']).toEqual({
          type: 'allowed_tools',
          allowed_tools: { mode, tools: SOME_NAMES.map(named) },
        });
        expect(functionsOf(body).map(({ name }) => name)).toEqual(NAMES);
      },
    );

    it('a choice among allowed tools leaves out those that are hosted', async () => {
      const body = await translation.sent({
        tools: TOOLS,
        tool_choice: allowed('required', { type: 'web_search' }, LOOK),
      });
      expect(functionsOf(body).map(({ name }) => name)).toEqual(['look']);
    });

    it.each(['auto', 'required'])(
      'a choice among allowed tools is refused where only hosted ones are allowed (%s)',
      async (mode) => {
        const choice = allowed(mode, { type: 'web_search' });
        const refusal = await translation.refusal({ tools: TOOLS, tool_choice: choice });
        expect(refusal).toEqual(refusedValue('tool_choice', NO_SEARCH));
      },
    );

    it('a choice among allowed tools still shows calls of others, and those of earlier turns', async () => {
      const first = await translation.turn({ tools: TOOLS }, { toolCalls: [{ name: 'listen', arguments: '{}' }] });
      const { body } = await translation.turn({
        tools: TOOLS,
        tool_choice: allowed('auto', LOOK),
        previous_response_id: first.response.id,
        input: [{ type: 'function_call_output', call_id: 'call_1', output: 'silence' }],
      });
      expect(body.messages).toContainEqual({
        role: 'tool',
        tool_call_id: 'call_1',
        name: 'listen',
        content: 'silence',
      });
    });
  });

  it('the choice of tools is echoed as it came', async () => {
    for (const choice of [LOOK, { type: 'shell' }, allowed('auto', LOOK), 'required']) {
      const { response } = await translation.turn({ tools: TOOLS, tool_choice: choice, model: 'unnamed' });
      expect(response['tool_choice']).toEqual(choice);
    }
  });

  it('the choice of tools is refused for hosted tools', async () => {
    const refusal = await translation.refusal({ tools: TOOLS, tool_choice: { type: 'web_search' } });
    expect(refusal).toEqual(refusedValue('tool_choice', NO_SEARCH));
  });

  it('the choice of tools is refused where a call is demanded and no tool can be called', async () => {
    const refusal = await translation.refusal({ tools: [{ type: 'web_search' }], tool_choice: 'required' });
    expect(refusal).toEqual(refusedValue('tool_choice', NO_SEARCH));
  });

  it.each(['auto', 'none'])('the choice of tools is nothing where only hosted tools are there (%s)', async (choice) => {
    const body = await translation.sent({
      tools: [{ type: 'web_search' }],
      tool_choice: choice,
      parallel_tool_calls: false,
    });
    expect(body).not.toHaveProperty('tools');
    expect(body).not.toHaveProperty('tool_choice');
    expect(body).not.toHaveProperty('parallel_tool_calls');
  });

  it('the choice of tools is refused where the model does not call tools', async () => {
    const refusal = await translation.refusal({ model: 'toolless', tools: [functionTool('look')] });
    expect(refusal).toEqual(refusedValue('tools', 'This model does not support tools.'));
    await expect(translation.sent({ model: 'toolless', tools: [{ type: 'web_search' }] })).resolves.not.toHaveProperty(
      'tools',
    );
    await expect(translation.sent({ model: 'toolless' })).resolves.toMatchObject({ messages: [{ content: 'Go on.' }] });
  });

  it.each<[unknown, object]>([
    [true, { parallel_tool_calls: true }],
    [false, { parallel_tool_calls: false }],
    [null, {}],
    [undefined, {}],
  ])('the choice of tools says whether calls may be parallel only if the client does: %s', async (isParallel, sent) => {
    const {
      tools: _tools,
      messages: _messages,
      ...rest
    } = await translation.sent({
      tools: [functionTool('look')],
      parallel_tool_calls: isParallel,
    });
    expect(rest).toEqual({ model: 'upstream-model', stream: true, stream_options: { include_usage: true }, ...sent });
  });
});
