import { describe, expect, it } from '@jest/globals';

import type { ModelEvent } from './model-event.js';
import { findSecrets, redact } from './redact.js';
import { redactSteps } from './recording/redact-steps.js';

const REDACTED = '[redacted]';

/** Credentials that match a pattern. */
const LOOKS: readonly (readonly [what: string, credential: string])[] = [
  ['an OpenAI key', 'sk-abcdefghijklmnop1234'],
  ['an OpenAI project key', 'sk-proj-AbCd_efgh-1234567890'],
  ['a public key of a payment service', 'pk-live-1234567890'],
  ['a bearer token', 'Bearer abc.DEF-123~+/=='],
  ['a bearer token in another case', 'bearer abcdef123456'],
  ['a token of GitHub', 'ghp_abcdefghijklmnop1234567890'],
  ['a fine-grained token of GitHub', 'github_pat_11ABCDEFG0abcdefghij'],
  ['a token of GitLab', 'glpat-abcdefghij1234567890'],
  ['a token of Slack', 'xoxb-123456789012-abcdefghijkl'],
  ['a key of AWS', 'AKIAIOSFODNN7EXAMPLE'],
  ['a JSON web token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r'],
];

describe(findSecrets, () => {
  it.each([
    ...['OPENAI_API_KEY', 'ACME_TOKEN', 'CLIENT_SECRET', 'PGPASSWORD', 'AWS_CREDENTIALS', 'DATABASE_URL'],
    ...['api_key', 'Npm_Config_Token', 'KEYSTORE'],
  ])('takes the value of %s', (name) => {
    expect(findSecrets({ [name]: 'hunter2-hunter2', HOME: '/home/ada' }, [])).toEqual(['hunter2-hunter2']);
  });

  it('ignores other and unset variables, and values that are too common', () => {
    const variables = {
      HOME: '/home/somebody',
      MONKEY: 'short',
      API_KEY: '',
      ACME_TOKEN: undefined,
      A_SECRET: '1234567',
      KEY_ID: '123456789',
    };
    expect(findSecrets(variables, [])).toEqual([]);
  });

  it('finds API keys without their tenants', () => {
    const keys = ['team-a:sesame-open-1', 'team-b:with:colon:inside'];
    expect(findSecrets({}, keys)).toEqual(['sesame-open-1', 'with:colon:inside']);
  });
});

describe(redact, () => {
  it.each([
    ['plain', 'correct-horse'],
    ['with quotes and backslashes', 'corr"ect\\horse'],
    ['over several lines', '-----BEGIN KEY-----\nabc\tdef\n-----END KEY-----'],
    ['beyond ASCII', 'pässwörd-🗝️-ключ'],
    ['of signs that mean something in expressions', '^(a+)+$[x]{2,}|.*'],
    ['of signs that mean something in replacements', "$&-$1-$$-$'"],
  ])('hides a known secret, wherever it stands: %s', (_, secret) => {
    expect(redact(`It is ${secret}, again ${secret}.`, [secret])).toBe(`It is ${REDACTED}, again ${REDACTED}.`);
    expect(redact(`x${secret}y`, [secret])).toBe(`x${REDACTED}y`);
  });

  it.each([[['secret-one', 'secret-one-two']], [['secret-one-two', 'secret-one']]])(
    'hides all of a secret that another is part of: %j',
    (secrets) => {
      expect(redact('long: secret-one-two, short: secret-one.', secrets)).toBe(
        `long: ${REDACTED}, short: ${REDACTED}.`,
      );
    },
  );

  it.each(LOOKS)('hides what looks like %s', (_, credential) => {
    expect(redact(`The key (${credential}) is wrong.`, [])).toBe(`The key (${REDACTED}) is wrong.`);
    expect(redact(credential, [])).toBe(REDACTED);
    expect(redact(`\n${credential}\n`, [])).toBe(`\n${REDACTED}\n`);
    expect(redact(`Key:\t${credential}\r\n`, [])).toBe(`Key:\t${REDACTED}\r\n`);
  });

  it.each([
    'A risk-free, task-oriented desk-lamp for the bearer of this letter.',
    'The class is .sk-spinner, the flag --pk-x.',
    'eyJust kidding. Bearer of news. AKIA is a word.',
    '',
  ])('leaves ordinary text as it is: %s', (text) => {
    expect(redact(text, ['correct-horse'])).toBe(text);
  });
});

describe(redactSteps, () => {
  const redactEvents = (events: readonly ModelEvent[], secrets: readonly string[] = []): readonly ModelEvent[] =>
    redactSteps(
      [
        { at: 0, events: events.slice(0, 1) },
        { at: 9, events: events.slice(1) },
      ],
      secrets,
    ).flatMap(({ events: redacted = [] }) => redacted);
  const textOf = (events: readonly ModelEvent[]): string =>
    events.map((event) => ('delta' in event ? event.delta : '')).join('');

  it.each([...LOOKS, ['a known secret', 'correct-horse'] as const])('hides it over several deltas: %s', (_, secret) => {
    for (const length of [1, 3, secret.length - 1]) {
      const pieces = `It is (${secret})!`.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? [];
      const events = pieces.map((delta): ModelEvent => ({ type: 'text', delta }));
      const redacted = redactEvents(events, ['correct-horse']);
      expect(textOf(redacted)).toBe(`It is (${REDACTED})!`);
      expect(redacted).toHaveLength(events.length);
    }
  });

  it.each([...LOOKS, ['a known secret', 'corr"ect\\horse\nof the night'] as const])(
    'hides it in the arguments of a call, where it stands as JSON has it: %s',
    (_, secret) => {
      const delta = JSON.stringify({ note: `first\n${secret}`, key: secret });
      const [, { delta: redacted }] = redactEvents(
        [
          { type: 'function_call', name: 'look' },
          { type: 'function_call_arguments', delta },
        ],
        ['corr"ect\\horse\nof the night'],
      ) as [unknown, { delta: string }];
      expect(JSON.parse(redacted)).toEqual({ note: `first\n${REDACTED}`, key: REDACTED });
    },
  );

  it('drops log probabilities of redacted text', () => {
    const logprob = (token: string): { token: string; logprob: number; bytes: number[]; top_logprobs: [] } => ({
      token,
      logprob: -1,
      bytes: [...Buffer.from(token)],
      top_logprobs: [],
    });
    const events = ['correct', '-', 'horse'].map((delta): ModelEvent => ({
      type: 'text',
      delta,
      logprobs: [logprob(delta)],
    }));
    expect(JSON.stringify(redactEvents(events, ['correct-horse']))).not.toMatch(/correct|horse|99,111/);
  });

  it('ends with an empty secret, which is everywhere', () => {
    expect(redact('some text', ['', 'text'])).toBe('some [redacted]');
  });

  it('preserves the members that link events', () => {
    const key = 'sk-abcdefghijklmnop1234';
    const events: readonly ModelEvent[] = [
      { type: 'function_call', name: 'look', key },
      { type: 'function_call_arguments', delta: '{}', key },
      { type: 'end', key },
      { type: 'reasoning_summary', delta: 'x' },
    ];
    const redacted = redactEvents(events, ['reasoning_summary', 'function_call']);
    expect(redacted.map(({ type }) => type)).toEqual(events.map(({ type }) => type));
    expect(new Set(redacted.slice(0, 3).map((event) => 'key' in event && event.key)).size).toBe(1);
  });
});
