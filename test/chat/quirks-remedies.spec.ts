import { describe, expect, it } from '@jest/globals';

import { textReply } from '../support/chat-upstream/reply.js';
import { sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';

describe('refusals that the entry of an upstream avoids', () => {
  const service = useService(() => {
    const capabilities = { developer_role: true, strict_tools: true };
    return startChatService({ provider: { retries: 0, capabilities } });
  });

  const look = { type: 'function', name: 'look', parameters: {}, strict: false };
  it.each<[words: string, members: object, remedy: string]>([
    [
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { max_output_tokens: 16 },
      'capabilities: { max_tokens_field: max_completion_tokens }',
    ],
    ['Conversation roles must alternate user/assistant', {}, 'capabilities: { role_order: alternating }'],
    ["Unexpected role 'user' after role 'tool'", {}, 'capabilities: { role_order: alternating }'],
    ['System message must be at the beginning.', { instructions: 'Be brief.' }, 'capabilities: { system_role: first }'],
    ['System role not supported', { instructions: 'Be brief.' }, 'capabilities: { system_role: none }'],
    ["Role 'developer' is unknown", { instructions: 'Be brief.' }, 'capabilities: { developer_role: false }'],
    [
      'tools.0.function.strict: Extra inputs are not permitted',
      {
        tools: [{ ...look, strict: true, parameters: { type: 'object', properties: {}, additionalProperties: false } }],
      },
      'capabilities: { strict_tools: false }',
    ],
    ['stream_options is not allowed', {}, 'capabilities: { stream_usage: false }'],
    ['Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.', {}, 'capabilities: { call_ids: nine }'],
    [
      "tool_choice: Input should be 'auto', 'none' or 'any'",
      { tools: [look], tool_choice: { type: 'function', name: 'look' } },
      'capabilities: { named_tool_choice: false }',
    ],
    [
      "'response_format.type' : value is not one of the allowed values ['text','json_object']",
      { text: { format: { type: 'json_schema', name: 'x', schema: {} } } },
      'capabilities: { structured_output: json_object }',
    ],
    [
      'The `reasoning_content` in the thinking mode must be passed back to the API.',
      {},
      'capabilities: { reasoning_replay: reasoning_content, reasoning_on_calls: true }',
    ],
    [
      'Unrecognized request argument supplied: reasoning_effort',
      { reasoning: { effort: 'low' } },
      'capabilities: { reasoning_switch: none }',
    ],
    ["property 'messages.2.name' is unsupported", {}, 'capabilities: { tool_names: false }'],
    ['Unknown parameter: metadata', { metadata: { a: 'b' } }, 'omit: [metadata]'],
    ["Unsupported value: 'temperature' does not support 0.", { temperature: 0 }, 'omit: [temperature]'],
  ])('refusals of an upstream come with the setting that avoids them: %s', async (words, members, remedy) => {
    for (const body of [{ error: { message: words } }, { detail: words }]) {
      service.upstream.respond(textReply(JSON.stringify(body), 'application/json', { status: 400 }));
      await expect(sendTurn(service, members)).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining(`The provider's entry avoids this with \`${remedy}\`.`) as unknown,
      });
    }
  });

  it('refusals of an upstream say which member a list of them is about, and the setting that leaves it out', async () => {
    const detail = [{ type: 'extra_forbidden', loc: ['body', 'user'], msg: 'Extra inputs are not permitted' }];
    service.upstream.respond(textReply(JSON.stringify({ detail }), 'application/json', { status: 422 }));
    await expect(sendTurn(service, { user: 'ada' })).rejects.toMatchObject({
      message: expect.stringMatching(/body\.user: Extra inputs are not permitted .*`omit: \[user\]`/) as unknown,
    });
  });

  it.each<[words: string, members: object]>([
    ['Thinking mode does not support this tool_choice', { tools: [look], tool_choice: 'required' }],
    ['The picture is too large.', {}],
    ['Unknown parameter: metadata', {}],
    ['The system is busy: first come, first served.', {}],
    ['System role not supported', {}],
    ['Ask the developer of this model.', {}],
    ['The strict mode is off.', { tools: [look] }],
    ["This model's maximum context length is 8192 tokens; max_completion_tokens instead", { max_output_tokens: 16 }],
  ])('refusals of an upstream name no setting where none helps: %s', async (words, members) => {
    service.upstream.respond(
      textReply(JSON.stringify({ error: { message: words } }), 'application/json', { status: 400 }),
    );
    await expect(sendTurn(service, members)).rejects.toMatchObject({
      message: expect.not.stringContaining("The provider's entry") as unknown,
    });
  });
});
