import { describe, expect, it } from '@jest/globals';
import { APIError } from 'openai';

import type { Quirks } from '../support/chat-upstream/quirks.js';
import { MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';

const ANSWER = {
  reasoning: ['Let me', ' see.'],
  text: ['Here it', ' is.'],
  toolCalls: [{ name: 'look', arguments: ['{"at":', '"Bern"}'] }],
};

/** The wordings that differ most. */
const UPSTREAMS: readonly (readonly [name: string, quirks: Quirks])[] = [
  ['tidy', {}],
  ['terse', { roleChunk: false, usage: 'absent', done: false, unfinished: 'absent', choiceIndex: 'absent' }],
  ['wordy', { roleEverywhere: true, nullMembers: true, usage: 'cumulative', comments: true, eventName: 'message' }],
  ['whole', { callArguments: 'whole', callIds: 'missing', callIndexes: 'missing', finishWithContent: true }],
  [
    'unusual',
    { reasoning: 'thinking_parts', contentParts: true, callArguments: 'object', lineEnd: '\r', packetBytes: 3 },
  ],
  ['not streaming', { json: true }],
];

describe('the official SDK in front of an upstream', () => {
  const service = useService(() => startChatService({ provider: { retries: 0 } }));

  it.each(UPSTREAMS)('the official SDK gathers the stream of an upstream that is %s', async (_, quirks) => {
    service.upstream.answer(ANSWER, quirks);
    const stream = service.client().responses.stream({ model: MODEL, input: 'Go on.' });
    const response = await stream.finalResponse();
    expect(response).toMatchObject({ status: 'completed', output_text: 'Here it is.' });
    expect(response.output).toMatchObject([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Let me see.' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'Here it is.' }] },
      { type: 'function_call', name: 'look', arguments: '{"at":"Bern"}', call_id: expect.stringMatching(/./) },
    ]);
  });

  it.each(UPSTREAMS)('the official SDK gets the response of an upstream that is %s', async (_, quirks) => {
    service.upstream.answer(ANSWER, quirks);
    const response = await service.client().responses.create({ model: MODEL, input: 'Go on.' });
    expect(response.output_text).toBe('Here it is.');
    expect(response.usage?.total_tokens).toBe(
      (response.usage?.input_tokens ?? 0) + (response.usage?.output_tokens ?? 0),
    );
  });

  it('the official SDK is told what the upstream refuses, in a class of its own', async () => {
    service.upstream.refuse(429, 'flat', { 'retry-after': '9' });
    const refused = service.client().responses.create({ model: MODEL, input: 'Go on.' });
    const error = await refused.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect((error as APIError).headers?.get('retry-after')).toBe('9');
  });

  it('the official SDK gets an error when the upstream breaks off each time that it is asked', async () => {
    for (let time = 0; time < 3; time += 1) service.upstream.answer(ANSWER, { breaks: { after: 4, by: 'end' } });
    const refused = service.client().responses.create({ model: MODEL, input: 'Go on.' });
    await expect(refused).rejects.toMatchObject({ status: 500, code: 'server_error' });
  });
});
