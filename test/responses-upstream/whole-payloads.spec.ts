import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { streaming } from '../support/responses-upstream/reply.js';
import { MODEL, startResponsesService } from '../support/responses-upstream/start-responses-service.js';
import { TRANSPORTS } from '../support/transports.js';

describe.each(TRANSPORTS)('a call whose payload stands only in its done event, over $name', (transport) => {
  const service = useService(() => startResponsesService());

  it.each([
    ['function_call', 'function_call_arguments', 'arguments', '{"a":1}'],
    ['custom_tool_call', 'custom_tool_call_input', 'input', 'go'],
  ])(
    'a call whose payload stands only in its done event is complete with it: %s',
    async (type, event, member, whole) => {
      const item = { type, id: 'call_u', call_id: 'call_1', name: 'look', [member]: '', status: 'in_progress' };
      const place = { item_id: item.id, output_index: 0 };
      service.upstream.respond(
        streaming([
          { type: 'response.created', response: { id: 'resp_u' } },
          { type: 'response.output_item.added', output_index: 0, item },
          { type: `response.${event}.done`, ...place, [member]: whole },
          { type: 'response.completed', response: { id: 'resp_u', output: [] } },
        ]),
      );
      const { response } = await transport.run(service, { model: MODEL, input: 'Hi' });
      expect(response).toMatchObject({ status: 'completed', output: [{ type, [member]: whole, status: 'completed' }] });
    },
  );

  it('a call whose payload came in deltas has it once', async () => {
    const item = { type: 'function_call', id: 'call_u', call_id: 'call_1', name: 'look', arguments: '' };
    const place = { item_id: item.id, output_index: 0 };
    service.upstream.respond(
      streaming([
        { type: 'response.output_item.added', output_index: 0, item },
        { type: 'response.function_call_arguments.delta', ...place, delta: '{"a":1}' },
        { type: 'response.function_call_arguments.done', ...place, arguments: '{"a":1}' },
        { type: 'response.completed', response: { id: 'resp_u', output: [] } },
      ]),
    );
    const { response } = await transport.run(service, { model: MODEL, input: 'Hi' });
    expect(response).toMatchObject({ output: [{ arguments: '{"a":1}' }] });
  });
});
