import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { LineBudget } from '../../src/logging/index.js';
import { ServiceLog } from '../support/service-log.js';
import type { Quirks } from '../support/chat-upstream/quirks.js';
import { saidIn } from '../support/output.js';
import { runTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';

const ANSWER = { text: ['One', ' two', ' three'] };

describe('the end of an answer', () => {
  const service = useService(() => startChatService({ provider: { retries: 0 } }));
  let log: ServiceLog;

  beforeEach(() => {
    // The log tells of the same failure once a minute.
    LineBudget.endAll();
    log = ServiceLog.begin();
  });

  afterEach(() => log[Symbol.dispose]());

  it.each<[string, Quirks]>([
    ['a finish reason and [DONE]', {}],
    ['a finish reason and no [DONE]', { done: false }],
    ['[DONE] and no finish reason', { finish: false }],
    ['[DONE], a usage and no finish reason', { finish: false, usage: 'own_chunk' }],
    ['a JSON document and no finish reason', { finish: false, json: true }],
    ['a finish reason in the last piece and no [DONE]', { done: false, finishWithContent: true }],
    ['a finish reason and a connection that breaks', { breaks: { after: 5, by: 'cut' } }],
    ['[DONE] and a connection that stays open', { breaks: { after: 7, by: 'stall' } }],
    ['a finish reason, and errors behind [DONE]', { breaks: { after: 7, by: { error: 'stringCode' } } }],
    ['a finish reason, and nonsense behind [DONE]', { breaks: { after: 7, by: { nonsense: 'invalidJson' } } }],
  ])('the end of an answer is there with %s', async (_, quirks) => {
    const { response } = await runTurn(service, ANSWER, quirks);
    expect(response).toMatchObject({ status: 'completed', error: null });
    expect(saidIn(response)).toEqual([{ text: 'One two three' }]);
    expect(log.complaints).toEqual([]);
  });

  it.each<[string, Quirks]>([
    ['neither finish reason nor [DONE]', { finish: false, done: false }],
    ['a usage, but no finish reason', { finish: false, done: false, usage: 'own_chunk' }],
    ['an end in the middle', { breaks: { after: 3, by: 'end' } }],
    ['a connection that breaks in the middle', { breaks: { after: 3, by: 'cut' } }],
  ])('the end of an answer is a failure with %s', async (_, quirks) => {
    const { response } = await runTurn(service, ANSWER, quirks);
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    // What was said until then is not taken back.
    expect(saidIn(response)).toEqual([{ text: expect.stringMatching(/^One two/) }]);
    expect(response['error']).toMatchObject({ message: expect.stringMatching(/retry/) });
    expect(log.complaints).toHaveLength(1);
  });

  it.each<[string, Quirks]>([
    ['ends', { breaks: { after: 0, by: 'end' } }],
    ['ends after it said who speaks', { breaks: { after: 1, by: 'end' } }],
    ['breaks', { breaks: { after: 0, by: 'cut' } }],
    ['breaks after it said who speaks', { breaks: { after: 1, by: 'cut' } }],
    ['is reset', { breaks: { after: 1, by: 'reset' } }],
  ])('the end of an answer is an HTTP error when the stream %s before a word', async (_, quirks) => {
    await expect(runTurn(service, ANSWER, quirks)).rejects.toMatchObject({
      status: 500,
      body: { error: { type: 'server_error', code: 'server_error', param: null } },
    });
    expect(log.complaints).toHaveLength(1);
  });

  it.each<[string, string, string]>([
    ['length', 'incomplete', 'max_output_tokens'],
    ['model_length', 'incomplete', 'max_output_tokens'],
    ['MAX_TOKENS', 'incomplete', 'max_output_tokens'],
    ['max_output_tokens', 'incomplete', 'max_output_tokens'],
    ['token_limit', 'incomplete', 'max_output_tokens'],
    ['time_limit', 'incomplete', 'max_output_tokens'],
    ['model_context_window_exceeded', 'incomplete', 'max_output_tokens'],
    ['content_filter', 'incomplete', 'content_filter'],
    ['content-filter', 'incomplete', 'content_filter'],
    ['content_filtered', 'incomplete', 'content_filter'],
    ['content_filter: RECITATION', 'incomplete', 'content_filter'],
    ['PROHIBITED_CONTENT', 'incomplete', 'content_filter'],
    ['guardrail_intervened', 'incomplete', 'content_filter'],
    ['ERROR_TOXIC', 'incomplete', 'content_filter'],
    ['refusal', 'incomplete', 'content_filter'],
  ])('an answer ends early for the finish reason %s', async (finish, status, reason) => {
    const { response } = await runTurn(service, { ...ANSWER, finish });
    expect(response).toMatchObject({ status, incomplete_details: { reason }, error: null });
    expect(response['output']).toMatchObject([{ status: 'incomplete', content: [{ text: 'One two three' }] }]);
  });

  it.each(['stop', 'eos', 'end_turn', 'STOP', 'stop_sequence', 'pause_turn', 'something_new'])(
    'the end of an answer is ordinary for the finish reason %s',
    async (finish) => {
      const { response } = await runTurn(service, { ...ANSWER, finish });
      expect(response).toMatchObject({ status: 'completed', incomplete_details: null });
    },
  );

  it.each([
    'error',
    'abort',
    'insufficient_system_resource',
    'USER_CANCEL',
    'timeout',
    'MALFORMED_FUNCTION_CALL',
    'function_call_filter: MALFORMED_FUNCTION_CALL',
  ])('the end of an answer is a failure for the finish reason %s', async (finish) => {
    const { response } = await runTurn(service, { ...ANSWER, finish });
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
  });

  it('an answer ends early without a word where a filter stopped it', async () => {
    const { response } = await runTurn(service, { finish: 'content_filter' });
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'content_filter' } });
  });

  it('an answer ends early too in a body that is not streamed', async () => {
    const { response } = await runTurn(service, { ...ANSWER, finish: 'length' }, { json: true });
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
  });
});
