import { describe, expect, it } from '@jest/globals';

import { readAdvice } from '../../upstream-errors/retry-after.js';
import { type Profile, PROFILES } from '../profile.js';
import { AnswerRefusedError } from '../transport/exchange.js';
import { classifyFailed, classifyFrame, classifyHandshake, classifyHttp } from './classify.js';

const NOW = 1_800_000_000_000;
const NOVEMBER = { profile: PROFILES['codex-2026-11'], now: NOW };
const FEBRUARY = { profile: PROFILES['codex-2026-02'], now: NOW };

const failed = (code: string | undefined, message = 'Sorry.', headers?: object) => ({ code, message, headers });
const body = (error: object): string => JSON.stringify({ error });

describe('response.failed', () => {
  it.each(
    Object.values(PROFILES).flatMap((profile) => [...profile.fatalCodes].map((code) => [code, profile] as const)),
  )('§6 with code %s is fatal ($name)', (code, profile: Profile) => {
    expect(classifyFailed(failed(code), { profile, now: NOW })).toMatchObject({
      remedy: 'none',
      options: { failure: { code, message: 'Sorry.' } },
    });
  });

  it.each(['context_length_exceeded', 'insufficient_quota', 'usage_not_included', 'invalid_prompt'])(
    '§6 has %s among the fatal codes of both profiles',
    (code) => {
      expect(FEBRUARY.profile.fatalCodes.has(code)).toBe(true);
      expect(NOVEMBER.profile.fatalCodes.has(code)).toBe(true);
    },
  );

  it.each(['server_error', 'vector_store_timeout', 'a_code_of_next_year', undefined])(
    '§6 with code %s is retried',
    (code) => {
      for (const context of [NOVEMBER, FEBRUARY]) expect(classifyFailed(failed(code), context).remedy).toBe('retry');
    },
  );

  it.each([undefined, null, 7, [], {}, 'text'])('§6 without a usable error (%j) is retried', (error) => {
    const { remedy, message } = classifyFailed(error, NOVEMBER);
    expect([remedy, message]).toEqual(['retry', typeof error === 'string' ? 'no code: text' : expect.any(String)]);
  });

  it('response.failed names an event without an error', () => {
    expect(classifyFailed(undefined, NOVEMBER).message).toBe('response.failed event received');
  });

  it('§6 takes the delay of rate_limit_exceeded from its text', () => {
    const error = failed('rate_limit_exceeded', 'Rate limit reached. Please try again in 1.2s. Visit …');
    for (const context of [NOVEMBER, FEBRUARY]) expect(classifyFailed(error, context).options.retryAt).toBe(NOW + 1200);
  });

  it('response.failed takes the delay of slow_down from its text since November 2026', () => {
    const error = failed('slow_down', 'Try again in 300ms');
    expect(classifyFailed(error, NOVEMBER).options.retryAt).toBe(NOW + 300);
    expect(classifyFailed(error, FEBRUARY).options.retryAt).toBeUndefined();
  });

  it('§6 takes no delay from the text of other codes', () => {
    const error = failed('server_error', 'Please try again in 5 seconds.');
    for (const context of [NOVEMBER, FEBRUARY]) expect(classifyFailed(error, context).options.retryAt).toBeUndefined();
  });

  it('response.failed prefers the header in the error to its text, since November 2026', () => {
    const error = failed('rate_limit_exceeded', 'try again in 9s', { 'Retry-After': '2' });
    expect(classifyFailed(error, NOVEMBER).options.retryAt).toBe(NOW + 2000);
    expect(classifyFailed(error, FEBRUARY).options.retryAt).toBe(NOW + 9000);
  });

  it.each([
    ['its details', { details: [{ retryDelay: '7s' }] }],
    [
      'the error of its upstream',
      { metadata: { raw: JSON.stringify({ error: { details: [{ retryDelay: '7s' }] } }) } },
    ],
    ['the list of errors of its upstream', { metadata: { raw: [{ error: { details: [{ retryDelay: '7s' }] } }] } }],
    // Each of them is read once: twice as often at each level would never end.
    ['the innermost of many errors', within(64, { details: [{ retryDelay: '7s' }] })],
  ])('§6 a delay is read from %s (codex-2026-11)', (_, members) => {
    const error = { ...failed('rate_limit_exceeded'), ...members };
    expect(classifyFailed(error, NOVEMBER).options).toMatchObject({ retryAt: NOW + 7000, statedAt: NOW + 7000 });
    expect(classifyHttp(new AnswerRefusedError(429, {}, body(error)), NOVEMBER).options.retryAt).toBe(NOW + 7000);
  });

  it('response.failed of an overloaded server is retried only when it states a delay', () => {
    expect(classifyFailed(failed('server_is_overloaded'), NOVEMBER).remedy).toBe('none');
    const stated = failed('server_is_overloaded', '', { 'retry-after': 1 });
    expect(classifyFailed(stated, NOVEMBER).remedy).toBe('retry');
    expect(classifyFailed(failed('server_is_overloaded'), FEBRUARY).remedy).toBe('retry');
  });

  it('response.failed of a quota stays fatal whatever delay it states', () => {
    expect(classifyFailed(failed('insufficient_quota', '', { 'retry-after': '1' }), NOVEMBER).remedy).toBe('none');
  });

  it('response.failed of a forgotten parent asks for the whole context', () => {
    expect(classifyFailed(failed('previous_response_not_found'), NOVEMBER).remedy).toBe('whole_context');
  });
});

describe('the delay in a text', () => {
  it.each([
    ['Please try again in 1.2s.', 1200],
    ['TRY AGAIN IN 300ms', 300],
    ['try again in 2 seconds', 2000],
    ['try again in 1 second', 1000],
    ['try again in 5s, or later', 5000],
    ['try again in 1m3.5s.', 63_500],
    ['try again in 6m0s', 360_000],
    ['try again in 1h2m3s', 3_723_000],
    ['try again in 99999999s', 86_400_000],
    ['try again in 1m', undefined],
    ['try again later', undefined],
    ['in 3s', undefined],
  ])('§6 %s', (text, delayMs) => {
    expect(readAdvice(text)).toBe(delayMs);
  });
});

describe('an HTTP status', () => {
  const refuse = (status: number, error: object = {}, headers = {}) =>
    classifyHttp(new AnswerRefusedError(status, headers, body(error)), NOVEMBER);
  const refuseHandshake = (status: number) => classifyHandshake(new AnswerRefusedError(status, {}, ''), NOVEMBER);

  it.each([
    [400, 'none'],
    [401, 'none'],
    [403, 'none'],
    [404, 'none'],
    [408, 'retry'],
    [409, 'retry'],
    [413, 'none'],
    [422, 'none'],
    [426, 'none'],
    [429, 'none'],
    [500, 'retry'],
    [501, 'none'],
    [502, 'retry'],
    [503, 'retry'],
    [504, 'retry'],
    [529, 'retry'],
  ])('%i leads to: %s', (status, remedy) => {
    expect(refuse(status).remedy).toBe(remedy);
  });

  it('an HTTP status of 5xx repeats the request itself, over HTTP only', () => {
    expect(refuse(500).options.isRequestLevel).toBe(true);
    expect(refuseHandshake(500).options.isRequestLevel).toBeUndefined();
    expect(refuse(429, {}, { 'retry-after': '1' }).options.isRequestLevel).toBe(false);
  });

  it('429 is retried only when it states a delay', () => {
    expect(refuse(429, {}, { 'retry-after': '3' })).toMatchObject({
      remedy: 'retry',
      options: { retryAt: NOW + 3000 },
    });
    const text = refuse(429, { code: 'rate_limit_exceeded', message: 'try again in 20ms' });
    expect(text).toMatchObject({ remedy: 'retry', options: { retryAt: NOW + 20 } });
  });

  it.each(['usage_limit_reached', 'usage_not_included', 'insufficient_quota', 'project_spend_limit_exceeded'])(
    '429 with type %s is fatal even with a delay',
    (type) => {
      expect(refuse(429, { type }, { 'retry-after': '3' }).remedy).toBe('none');
    },
  );

  it('503 of an overloaded server is retried only when it states a delay', () => {
    expect(refuse(503, { code: 'server_is_overloaded' }).remedy).toBe('none');
    expect(refuse(503, { code: 'server_is_overloaded' }, { 'retry-after': '1' }).remedy).toBe('retry');
    expect(refuse(503, { code: 'slow_down' }).remedy).toBe('retry');
  });

  it.each([
    [200, 'retry'],
    [301, 'retry'],
    [400, 'retry'],
    [401, 'none'],
    [403, 'none'],
    [404, 'retry'],
    [405, 'retry'],
    [426, 'http'],
    [429, 'none'],
    [500, 'retry'],
    [501, 'retry'],
  ])('§5.2 %i to a handshake, which says nothing of the request, leads to: %s', (status, remedy) => {
    expect(refuseHandshake(status).remedy).toBe(remedy);
  });

  it('an HTTP status of a forgotten parent asks for the whole context', () => {
    expect(refuse(400, { code: 'previous_response_not_found' }).remedy).toBe('whole_context');
  });

  it('an HTTP status keeps the request id for the log', () => {
    expect(refuse(500, {}, { 'x-request-id': 'req_7' }).options.requestId).toBe('req_7');
  });
});

describe('an error frame', () => {
  const frame = (members: object, error: object = {}) => classifyFrame({ type: 'error', error, ...members }, NOVEMBER);

  it.each([[{}], [{ status: 200 }], [{ status: '500' }]])('%j is ignored: it has no error status', (members) => {
    expect(frame(members)).toBeNull();
  });

  it.each([null, 7, []])('%j is ignored: it is no frame', (value) => {
    expect(classifyFrame(value, NOVEMBER)).toBeNull();
  });

  it.each([['status'], ['status_code']])('an error frame has its HTTP status in %s', (member) => {
    expect(frame({ [member]: 400 })?.remedy).toBe('none');
    expect(frame({ [member]: 500 })).toMatchObject({ remedy: 'retry', options: { status: 500 } });
  });

  it('an error frame has headers of its own', () => {
    const limited = frame({ status: 429, headers: { 'Retry-After': '4', 'x-request-id': 'req_1' } });
    expect(limited).toMatchObject({ remedy: 'retry', options: { retryAt: NOW + 4000, requestId: 'req_1' } });
  });

  it.each([400, 500, undefined])(
    'an error frame of a socket that is too old is retried, whatever its status (%s)',
    (status) => {
      expect(frame({ status }, { code: 'websocket_connection_limit_reached' })?.remedy).toBe('retry');
    },
  );

  it.each([400, 404, undefined])(
    'an error frame of a forgotten parent asks for the whole context (status %s)',
    (status) => {
      expect(frame({ status }, { code: 'previous_response_not_found' })?.remedy).toBe('whole_context');
    },
  );
});

/** An error within so many others. */
function within(levels: number, error: object): object {
  return levels === 0 ? error : { metadata: { raw: within(levels - 1, error) } };
}
