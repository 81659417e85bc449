import { expect, it } from '@jest/globals';

import { startChatService } from '../support/chat-upstream/start-chat-service.js';
import { EARLY, longText } from '../support/compaction.js';
import { useService } from '../support/describe-service.js';

const service = useService(() => startChatService());

it('a context is compacted by a model behind Chat Completions, which can call nothing meanwhile', async () => {
  service.upstream.answer({ text: 'SUMMARY' }).answer({ text: 'Done.' });
  const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
  const input = [
    { role: 'user', content: longText('first', 1500) },
    { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'seen' },
    { role: 'assistant', content: 'answer' },
    { role: 'user', content: 'second' },
  ];
  const body = { model: 'tested', input, tools, context_management: EARLY };
  const answer = await service.api.post('responses', body);
  expect(answer.body).toMatchObject({ status: 'completed', output: [{ type: 'compaction' }, { type: 'message' }] });
  const [summary, going] = service.upstream.requests.map((request) => request.body as Record<string, unknown>);
  expect(summary).toMatchObject({ tool_choice: 'none', tools: [{ function: { name: 'look' } }] });
  const rolesIn = (asked?: Record<string, unknown>): readonly unknown[] =>
    (asked?.['messages'] as readonly { readonly role: string }[]).map(({ role }) => role);
  expect(rolesIn(summary)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  expect(rolesIn(going)).toEqual(['assistant', 'user']);
  expect(JSON.stringify(going)).toContain('SUMMARY');
});
