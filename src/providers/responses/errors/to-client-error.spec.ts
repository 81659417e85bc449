import { describe, expect, it } from '@jest/globals';

import { PROFILES } from '../profile.js';
import { AnswerRefusedError } from '../transport/exchange.js';
import { UpstreamError } from '../upstream-error.js';
import { classifyFailed, classifyHttp } from './classify.js';
import { toClientError } from './to-client-error.js';

const NOW = 1_800_000_000_000;
const SECRET = 'sk-secretsecret';
const CONTEXT = { secrets: [SECRET, 'hunter2hunter2'], now: NOW, wasRepeated: false };
const READING = { profile: PROFILES['codex-2026-11'], now: NOW };

const refused = (status: number, error: object, headers = {}) =>
  toClientError(classifyHttp(new AnswerRefusedError(status, headers, JSON.stringify({ error })), READING), CONTEXT);

describe('the error for the client', () => {
  it('the error for the client has the code, the type, the place and the words of the upstream', () => {
    const error = {
      code: 'unknown_parameter',
      type: 'invalid_request_error',
      param: 'input[2].content[0]',
      message: 'No.',
    };
    expect(refused(400, error)).toMatchObject({
      code: 'unknown_parameter',
      message: 'No.',
      options: { status: 400, type: 'invalid_request_error', param: 'input[2].content[0]', retry: 'nowhere' },
    });
  });

  it.each([
    ['code', 'hunter2hunter2'],
    ['type', 'http://10.0.0.7/x'],
    ['type', 'hunter2hunter2'],
    ['param', `key ${SECRET}`],
    ['param', 'hunter2hunter2'],
    ['param', 'x'.repeat(200)],
    ['message', `Use ${SECRET} at http://10.0.0.7:8000/v1`],
  ])('the error for the client shows neither credentials nor addresses in its %s', (member, text) => {
    const error = refused(400, { code: 'invalid_value', message: 'No.', [member]: text });
    expect(JSON.stringify([error.code, error.message, error.options.type, error.options.param])).not.toContain(text);
  });

  it.each([
    [429, { code: 'rate_limit_exceeded', message: 'Limit of organization org-AbCdEf reached.' }, 'rate_limit_exceeded'],
    [429, { code: 'insufficient_quota', message: 'Organization org-AbCdEf is out of money.' }, 'insufficient_quota'],
    [401, { code: 'invalid_api_key', message: 'Wrong key of org-AbCdEf.' }, 'server_error'],
    [403, { message: 'Project of org-AbCdEf.' }, 'server_error'],
  ])(
    'the error for the client says of this service’s own account only what a client needs (%i)',
    (status, error, code) => {
      expect(refused(status, error).code).toBe(code);
      expect(refused(status, error).message).not.toContain('org-AbCdEf');
      const inStream = toClientError(classifyFailed(error, READING), CONTEXT);
      if (status === 429) expect(inStream.message).not.toContain('org-AbCdEf');
    },
  );

  it('the error for the client states the delay of the upstream, also where the profile does not read it', () => {
    const error = new AnswerRefusedError(503, { 'retry-after': '7' }, '{}');
    for (const profile of Object.values(PROFILES)) {
      const { options } = toClientError(classifyHttp(error, { profile, now: NOW }), CONTEXT);
      expect(options).toMatchObject({ status: 503, retryAfterMs: 7000 });
    }
  });

  it('the error for the client keeps the SDKs from repeating what was repeated', () => {
    const error = new UpstreamError('broken', { remedy: 'retry' });
    expect(toClientError(error, { ...CONTEXT, wasRepeated: true }).options.shouldRetry).toBe(false);
    expect(toClientError(error, CONTEXT).options.shouldRetry).toBeUndefined();
  });
});
