import { describe, expect, it } from '@jest/globals';

import { readHeaderEvents, toMetadata } from './header-events.js';

const HEADERS = {
  'content-type': 'text/event-stream',
  'x-reasoning-included': '',
  'x-models-etag': 'v1',
  'x-request-id': 'req_1',
  'x-codex-turn-state': 'ts-1',
  'openai-model': 'other',
  'x-ratelimit-remaining-requests': '9',
  'x-ratelimit-reset-tokens': ['6ms'],
  'x-codex-primary-used-percent': '42.5',
  'x-codex-secondary-reset-at': '1900000000',
  'x-codex-credits-has-credits': 'true',
  'x-codex-safety-buffering-enabled': 'true',
  'x-batch-primary-window-minutes': '60',
  'x-batch-limit-name': 'batch',
};

describe('§3.1 the headers of an answer', () => {
  it('the headers of an answer say, in this order: the rate limits of each family, the etag of the models, that reasoning is included', () => {
    expect(readHeaderEvents(HEADERS)).toEqual([
      {
        type: 'rate_limits',
        headers: { 'x-ratelimit-remaining-requests': '9', 'x-ratelimit-reset-tokens': '6ms' },
      },
      {
        type: 'rate_limits',
        headers: {
          'x-codex-primary-used-percent': '42.5',
          'x-codex-secondary-reset-at': '1900000000',
          'x-codex-credits-has-credits': 'true',
        },
      },
      { type: 'rate_limits', headers: { 'x-batch-primary-window-minutes': '60', 'x-batch-limit-name': 'batch' } },
      { type: 'models_etag', headers: { 'x-models-etag': 'v1' } },
      { type: 'server_reasoning_included', headers: { 'x-reasoning-included': 'true' } },
    ]);
  });

  it('the headers of an answer say nothing if there are none of these', () => {
    expect(readHeaderEvents({ 'x-request-id': 'req_1', 'retry-after': '3' })).toEqual([]);
  });

  it('the headers of an answer reach our client under their names and in this order, without the name of the model', () => {
    const { type, headers = {} } = toMetadata(readHeaderEvents(HEADERS), []);
    expect([type, Object.entries(headers)]).toEqual([
      'metadata',
      Object.entries({
        'x-ratelimit-remaining-requests': '9',
        'x-ratelimit-reset-tokens': '6ms',
        'x-codex-primary-used-percent': '42.5',
        'x-codex-secondary-reset-at': '1900000000',
        'x-codex-credits-has-credits': 'true',
        'x-batch-primary-window-minutes': '60',
        'x-batch-limit-name': 'batch',
        'x-models-etag': 'v1',
        'x-reasoning-included': 'true',
      }),
    ]);
  });
});

describe('§4.2 the headers of a handshake', () => {
  it('the headers of a handshake say that reasoning is included', () => {
    expect(readHeaderEvents({ 'x-reasoning-included': 'true' })).toEqual([
      { type: 'server_reasoning_included', headers: { 'x-reasoning-included': 'true' } },
    ]);
  });
});
