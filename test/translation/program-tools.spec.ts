import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { Translation } from '../support/translation/translation.js';
import { functionTool, user } from '../support/translation/user-items.js';

const LOOK = functionTool('look');
const HIDDEN = { ...functionTool('count'), allowed_callers: ['programmatic'] };
const BOTH = { ...functionTool('sum'), allowed_callers: ['direct', 'programmatic'] };
const PROGRAMS = { type: 'programmatic_tool_calling' };
const SPACE = { type: 'namespace', name: 'shop', description: '', tools: [HIDDEN, LOOK] };

const DEMANDS: readonly (readonly [string, object])[] = [
  ['it is chosen', { tools: [LOOK, HIDDEN], tool_choice: { type: 'function', name: 'count' } }],
  [
    'nothing else is allowed',
    {
      tools: [LOOK, HIDDEN],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'count' }] },
    },
  ],
  ['a call is required and there is no other', { tools: [HIDDEN], tool_choice: 'required' }],
  ['a call is required and else there are only programs', { tools: [HIDDEN, PROGRAMS], tool_choice: 'required' }],
  [
    'a call is required and else there is only a tool that nobody runs',
    { tools: [{ type: 'web_search' }, HIDDEN], tool_choice: 'required' },
  ],
  [
    'a call is required and its namespace has no other',
    { tools: [{ ...SPACE, tools: [HIDDEN] }], tool_choice: 'required' },
  ],
];
const REFUSED = { code: 'unsupported_value', param: 'tool_choice' };

const PROGRAM = { type: 'program', id: 'prog_1', call_id: 'call_1', code: 'count()', fingerprint: 'opaque' };
const OUTPUT = { type: 'program_output', id: 'po_1', call_id: 'call_1', result: '7', status: 'completed' };

describe('a tool that only programs may call', () => {
  const simulated = useService({});
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start();
  });

  afterAll(() => translation.close());

  it('a tool that only programs may call is echoed, and not offered to a model that runs none', async () => {
    const tools = [LOOK, HIDDEN, BOTH, SPACE];
    const { body, response } = await translation.turn({ tools });
    expect(body.tools).toMatchObject(['look', 'sum', 'shop__look'].map((name) => ({ function: { name } })));
    expect(response['tools']).toMatchObject(tools);
  });

  it('a tool that only programs may call is never called by the simulator', async () => {
    const { output } = await simulated.api.create({ model: 'simulator', input: 'count', tools: [HIDDEN] });
    expect(output).toMatchObject([{ type: 'message' }]);
  });

  it.each(DEMANDS)('a demanded call of a tool for programs is refused where %s', async (_, request) => {
    expect(await translation.refusal(request)).toMatchObject({ status: 400, error: REFUSED, wasAsked: false });
    const body = { model: 'simulator', input: 'Hi', ...request };
    expect(await simulated.api.post('responses', body)).toMatchObject({ status: 400, body: { error: REFUSED } });
  });

  it.each([[[HIDDEN, LOOK]], [[PROGRAMS, SPACE]]])(
    'a demanded call is not refused where a tool can be called that is not for programs',
    async (tools) => {
      const { tool_choice: choice } = await translation.sent({ tools, tool_choice: 'required' });
      expect(choice).toBe('required');
    },
  );

  it('a tool that only programs may call leaves programs and their outputs as they are', async () => {
    const input = [user('Count.'), PROGRAM, OUTPUT, user('Well?')];
    const { id } = await simulated.api.create({ model: 'simulator', input });
    const { body } = await simulated.api.get(`responses/${id}/input_items?order=asc`);
    expect((body['data'] as readonly object[]).slice(1, 3)).toEqual([PROGRAM, OUTPUT]);
    await expect(
      simulated.api.create({ model: 'simulator', input: 'Go on.', previous_response_id: id }),
    ).resolves.toMatchObject({ status: 'completed' });
  });
});
