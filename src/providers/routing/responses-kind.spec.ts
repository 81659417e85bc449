import { describe, expect, it } from '@jest/globals';

import type { ResponsesOptions } from '../responses/options.js';
import { PROFILES } from '../responses/profile.js';
import { type ResponsesEntry, responsesOptions, toResponsesOptions } from './responses-kind.js';

const SERVER = { base_url: 'https://api.example.com/v1/', api_key: 'sk-top-secret' };

const optionsOf = (entry: Partial<ResponsesEntry> = {}): ResponsesOptions =>
  responsesOptions('openai', { ...SERVER, ...entry });

describe('the options of an entry', () => {
  it('the options of an entry have the defaults of Codex', () => {
    expect(optionsOf()).toEqual({
      name: 'openai',
      address: {
        baseUrl: 'https://api.example.com/v1',
        headers: { authorization: 'Bearer sk-top-secret' },
        query: {},
        timeouts: { connectMs: 10_000, firstByteMs: 300_000, idleMs: 300_000 },
        connections: 1024,
      },
      fixture: null,
      profile: PROFILES['codex-2026-11'],
      websockets: null,
      compressesRequests: false,
      storesUpstream: false,
      compactsUpstream: false,
      retries: { requestMaxRetries: 4, streamMaxRetries: 5, budgetMs: 60_000 },
      discover: true,
      forward: [],
      omit: new Set(),
      secrets: ['sk-top-secret', 'api.example.com', 'api.example.com'],
    });
  });

  it('the options of an entry have what the entry says', () => {
    const options = optionsOf({
      headers: { 'X-Team': 'agents' },
      query: { 'api-version': '1' },
      timeouts: { connect_ms: 1, first_byte_ms: 2 },
      stream_idle_timeout_ms: 3,
      connections: 4,
      request_max_retries: 0,
      stream_max_retries: 1,
      retry_budget_ms: 5,
      discover: false,
      forward: ['top_k'],
      omit: ['user'],
      passthrough: 'store',
      compaction: 'upstream',
    });
    expect(options).toMatchObject({
      address: {
        headers: { 'x-team': 'agents' },
        query: { 'api-version': '1' },
        timeouts: { connectMs: 1, firstByteMs: 2, idleMs: 3 },
        connections: 4,
      },
      retries: { requestMaxRetries: 0, streamMaxRetries: 1, budgetMs: 5 },
      discover: false,
      forward: ['top_k'],
      omit: new Set(['user']),
      storesUpstream: true,
      compactsUpstream: true,
    });
  });

  it('the options of an entry say where programs err', () => {
    expect(() => optionsOf({ base_url: 'nowhere' })).toThrow('base_url must be an http or https URL');
    expect(() => optionsOf({ forward: ['tools'] })).toThrow('forward[0] is a reserved name (tools)');
  });
});

describe('upstreams §1.1: WebSockets are used', () => {
  it.each<readonly [what: string, entry: Partial<ResponsesEntry>, isUsed: boolean]>([
    ['not without supports_websockets', {}, false],
    ['with it', { supports_websockets: true }, true],
    ['not in February 2026 without the feature', { supports_websockets: true, profile: 'codex-2026-02' }, false],
    [
      'in February 2026 with the feature',
      { supports_websockets: true, profile: 'codex-2026-02', features: { responses_websockets: true } },
      true,
    ],
    ['not with the feature alone', { profile: 'codex-2026-02', features: { responses_websockets: true } }, false],
    ['today without the feature', { supports_websockets: true, features: { responses_websockets: false } }, true],
  ])('WebSockets are used %s', (_, entry, isUsed) => {
    expect(optionsOf(entry).websockets !== null).toBe(isUsed);
  });

  it('WebSockets are used with the defaults of Codex, and without healing', () => {
    expect(optionsOf({ supports_websockets: true }).websockets).toEqual({
      connectTimeoutMs: 15_000,
      connections: 64,
      idleMs: 300_000,
      maxAgeMs: 3_300_000,
      healAfterMs: null,
      compresses: false,
    });
  });

  it.each([
    [0, null],
    [60_000, 60_000],
  ])(
    'WebSockets are used with websocket_heal_after_ms: %p healing after %p',
    (websocket_heal_after_ms, healAfterMs) => {
      const { websockets } = optionsOf({ supports_websockets: true, websocket_heal_after_ms });
      expect(websockets?.healAfterMs).toBe(healAfterMs);
    },
  );
});

describe('upstreams §2.4: compression', () => {
  it.each([true, false])('compression is the feature enable_request_compression: %p', (enable_request_compression) => {
    expect(optionsOf({ features: { enable_request_compression } }).compressesRequests).toBe(enable_request_compression);
  });
});

describe('upstreams §7: the SSE fixture', () => {
  it.each<readonly [what: string, url: string, variable: string | null, fixture: string | null]>([
    ['is the path of base_url', 'fixture:test/a.sse', null, 'test/a.sse'],
    ['is that of CODEX_RS_SSE_FIXTURE', SERVER.base_url, '/tmp/b.sse', '/tmp/b.sse'],
    ['is that of CODEX_RS_SSE_FIXTURE before that of base_url', 'fixture:test/a.sse', '/tmp/b.sse', '/tmp/b.sse'],
    ['is none for a server', SERVER.base_url, null, null],
  ])('the SSE fixture %s', (_, base_url, variable, fixture) => {
    expect(toResponsesOptions('a', { base_url }, { secrets: [], fixture: variable }).fixture).toBe(fixture);
  });
});
