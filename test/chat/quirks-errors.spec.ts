import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { LineBudget } from '../../src/logging/index.js';
import type { ErrorFrame, Nonsense } from '../support/chat-upstream/breaks.js';
import { chunk, finish, openStreamOf, type StreamData, streamOf } from './chunk-stream.js';
import { saidIn } from '../support/output.js';
import { MODEL, runTurn, sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { ServiceLog } from '../support/service-log.js';
import { useService } from '../support/describe-service.js';
import { SSE_TRANSPORT } from '../support/transports.js';

const ANSWER = { text: ['One', ' two', ' three'] };

describe('errors of an upstream', () => {
  const service = useService(() => startChatService({ provider: { retries: 0 } }));
  let log: ServiceLog;

  beforeEach(() => {
    // The log tells of the same failure once a minute.
    LineBudget.endAll();
    log = ServiceLog.begin();
  });

  afterEach(() => log[Symbol.dispose]());

  describe('in the middle of a stream', () => {
    it.each<ErrorFrame>([
      'numberCode',
      'stringCode',
      'plainString',
      'errorEvent',
      'bareErrorEvent',
      'errorField',
      'errorObject',
      'errorBesideChoices',
      'errorInChoice',
      'errorMessage',
      'errorTypeAndMessage',
      'codeAndMessage',
      'statusAndMessage',
      'typeError',
      'detail',
      'errorsList',
      'baseResp',
    ])('errors in the middle of a stream fail the response, said as %s', async (error) => {
      const { response } = await runTurn(service, ANSWER, { breaks: { after: 3, by: { error } } });
      expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
      expect(saidIn(response)).toEqual([{ text: 'One two' }]);
      // What happens inside is for our log.
      expect(JSON.stringify(response)).not.toContain('fell over');
      expect(log.complaints).toEqual([expect.stringContaining('fell over')]);
    });

    it.each<ErrorFrame>(['numberCode', 'errorEvent', 'errorField'])(
      'errors in the middle of a stream fail the response although the stream goes on, said as %s',
      async (error) => {
        const { response } = await runTurn(service, ANSWER, { breaks: { after: 3, by: { error }, goesOn: true } });
        expect(response.status).toBe('failed');
        expect(saidIn(response)).toEqual([{ text: 'One two' }]);
      },
    );

    it.each<ErrorFrame>(['stringCode', 'errorField'])(
      'errors in the middle of a stream take nothing back that came in the same packet, said as %s',
      async (error) => {
        const { response } = await runTurn(service, ANSWER, { breaks: { after: 3, by: { error } }, together: true });
        expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
        expect(saidIn(response)).toEqual([{ text: 'One two' }]);
      },
    );

    it.each<[error: ErrorFrame, seconds: number]>([
      ['rateLimit', 1],
      ['rateLimitWithDelay', 64],
    ])(
      'errors in the middle of a stream tell of rate limits, and when they are over, where Codex reads it: %s',
      async (error, seconds) => {
        const { response } = await runTurn(service, ANSWER, { breaks: { after: 3, by: { error } } });
        const message = `Rate limit of the model reached. Please try again in ${seconds} s.`;
        expect(response).toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded', message } });
      },
    );

    it('errors in the middle of a stream tell of images that only the model finds out to be none', async () => {
      const { response } = await runTurn(service, ANSWER, { breaks: { after: 3, by: { error: 'invalidImage' } } });
      expect(response).toMatchObject({
        status: 'failed',
        error: { code: 'invalid_image_format', message: expect.stringContaining('No image format fits.') as unknown },
      });
    });

    it.each<Nonsense>(['invalidJson', 'list'])(
      'a chunk that is none is an error in the middle of a stream: %s',
      async (nonsense) => {
        const { response } = await runTurn(service, ANSWER, { breaks: { after: 3, by: { nonsense }, goesOn: true } });
        expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
        expect(saidIn(response)).toEqual([{ text: 'One two' }]);
        expect(log.complaints).toHaveLength(1);
      },
    );

    it.each<Nonsense>(['text', 'number', 'null', 'heartbeat', 'bracketedWord'])(
      'words that no chunk is made of are not errors if the answer goes on to its end: %s',
      async (nonsense) => {
        const { response } = await runTurn(service, ANSWER, { breaks: { after: 3, by: { nonsense }, goesOn: true } });
        expect(response).toMatchObject({ status: 'completed', usage: { input_tokens: 11, output_tokens: 7 } });
        expect(saidIn(response)).toEqual([{ text: 'One two three' }]);
        expect(log.complaints).toEqual([]);
      },
    );

    it.each([0, 1, 3])(
      'words that no chunk is made of are not errors if no finish reason follows them, but chunk %i does',
      async (after) => {
        const breaks = { after, by: { nonsense: 'text' }, goesOn: true } as const;
        const { response } = await runTurn(service, ANSWER, { breaks, finish: false });
        expect(response.status).toBe('completed');
        expect(saidIn(response)).toEqual([{ text: 'One two three' }]);
        expect(log.complaints).toEqual([]);
      },
    );

    it.each<[end: string, end: (data: readonly StreamData[]) => string]>([
      ['the end of the body', openStreamOf],
      ['[DONE]', streamOf],
    ])('words that no chunk is made of are errors if nothing follows them before %s', async (_, toBody) => {
      service.upstream.replay(toBody([chunk({ content: 'One' }), 'Service temporarily unavailable']));
      const { response } = await SSE_TRANSPORT.run(service, { model: MODEL, input: 'Go on.' });
      expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
      expect(log.complaints).toEqual([expect.stringContaining('Service temporarily unavailable')]);
    });

    it.each<[what: string, members: object]>([
      ['a blank', { error: ' ' }],
      ['an empty text', { error: '' }],
      ['an empty object', { error: {} }],
      ['an object without anything', { error: { message: '', code: null, details: [] } }],
      ['false', { error: false, error_type: null, error_message: '' }],
      ['a state that is good', { base_resp: { status_code: 0, status_msg: '' }, code: 0, errors: [] }],
      ['a state that is good as text', { base_resp: { status_code: '0', status_msg: 'success' } }],
    ])('empty members are not errors: %s', async (_, chunkMembers) => {
      const { response } = await runTurn(service, ANSWER, { chunkMembers });
      expect(response.status).toBe('completed');
      expect(saidIn(response)).toEqual([{ text: 'One two three' }]);
      expect(log.complaints).toEqual([]);
    });

    it.each<[what: string, frame: object]>([
      ['that the answer is in work', { status: 'processing', message: 'Please wait.' }],
      ['that all is well', { code: 200, message: 'OK' }],
      ['zero as text', { code: '0', message: 'success' }],
      ['that nothing is', { code: 'Success', message: 'success', errors: [] }],
    ])('words between the chunks are not errors if they say %s', async (_, frame) => {
      service.upstream.replay(streamOf([frame, chunk({ content: 'One' }), frame, finish()]));
      const { response } = await SSE_TRANSPORT.run(service, { model: MODEL, input: 'Go on.' });
      expect(response.status).toBe('completed');
      expect(saidIn(response)).toEqual([{ text: 'One' }]);
    });

    it.each<[code: number, status: number, error: string]>([
      [1002, 429, 'rate_limit_exceeded'],
      [1008, 500, 'server_error'],
      [2013, 400, 'invalid_value'],
    ])(
      'the code %i of MiniMax in an answer with status 200 is an error with status %i',
      async (code, status, error) => {
        const state = { status_code: code, status_msg: 'Refused, says the upstream.' };
        service.upstream.replay(JSON.stringify({ id: '1', choices: null, base_resp: state }));
        await expect(sendTurn(service)).rejects.toMatchObject({ status, body: { error: { code: error } } });
      },
    );

    it('errors in the middle of a stream take nothing back that came in the same packet, being nonsense', async () => {
      const breaks = { after: 3, by: { nonsense: 'invalidJson' } } as const;
      const { response } = await runTurn(service, ANSWER, { breaks, together: true });
      expect(response.status).toBe('failed');
      expect(saidIn(response)).toEqual([{ text: 'One two' }]);
    });

    it.each<Nonsense>([
      'emptyObject',
      'choicesOfAnotherKind',
      'choiceThatIsNull',
      'deltaThatIsNull',
      'callsThatAreText',
      'callThatIsNull',
      'usageThatIsText',
    ])('members that hold something else are not errors: %s', async (nonsense) => {
      const { response } = await runTurn(service, ANSWER, { breaks: { after: 3, by: { nonsense }, goesOn: true } });
      expect(response).toMatchObject({ status: 'completed', usage: { input_tokens: 11, output_tokens: 7 } });
      expect(saidIn(response)).toEqual([{ text: 'One two three' }]);
    });
  });

  describe('before the first word', () => {
    it.each<ErrorFrame>(['numberCode', 'stringCode', 'plainString', 'errorEvent', 'errorField', 'errorBesideChoices'])(
      'errors before the first word are HTTP errors, said as %s',
      async (error) => {
        const turn = runTurn(service, ANSWER, { breaks: { after: 1, by: { error } } });
        await expect(turn).rejects.toMatchObject({ body: { error: { code: 'server_error', type: 'server_error' } } });
      },
    );

    it('errors before the first word tell of images that only the model finds out to be none', async () => {
      const turn = runTurn(service, ANSWER, { breaks: { after: 0, by: { error: 'invalidImage' } } });
      await expect(turn).rejects.toMatchObject({ status: 400, body: { error: { code: 'invalid_image_format' } } });
    });

    it('errors before the first word tell that the input is too long', async () => {
      const turn = runTurn(service, ANSWER, { breaks: { after: 0, by: { error: 'contextLength' } } });
      await expect(turn).rejects.toMatchObject({ status: 400, body: { error: { code: 'context_length_exceeded' } } });
    });

    it('errors before the first word tell of rate limits', async () => {
      const turn = runTurn(service, ANSWER, { breaks: { after: 0, by: { error: 'rateLimit' } } });
      await expect(turn).rejects.toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
    });

    it('a page for people is an error before the first word', async () => {
      service.upstream.answerHtml();
      await expect(sendTurn(service)).rejects.toMatchObject({
        status: 502,
        body: { error: { code: 'server_error' } },
      });
    });

    it('a body with an error and status 200 is an error before the first word', async () => {
      service.upstream.refuse(200, 'openai');
      await expect(sendTurn(service)).rejects.toMatchObject({
        status: 500,
        body: { error: { code: 'server_error' } },
      });
    });

    it('a body that is no JSON although it says so is an error before the first word', async () => {
      service.upstream.refuse(200, 'invalidJson');
      await expect(sendTurn(service)).rejects.toMatchObject({
        status: 500,
        body: { error: { code: 'server_error' } },
      });
    });
  });
});
