import { describe, expect, it } from '@jest/globals';

import type { ModelEvent } from './model-event.js';
import { SECRET_ENCODINGS } from '../../test/support/encoded-secrets.js';
import { findSecrets, quotesKnownSecret, quotesSecret, redact } from './redact.js';
import { redactSteps } from './recording/recorder.js';
import { scrub } from './scrub.js';

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
  ])('redaction takes the value of %s', (name) => {
    expect(findSecrets({ [name]: 'hunter2-hunter2', HOME: '/home/ada' }, [])).toEqual(['hunter2-hunter2']);
  });

  it('redaction ignores other and unset variables, and values that are too common', () => {
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

  it('redaction finds API keys without their tenants', () => {
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
  ])('redaction hides a known secret, wherever it stands: %s', (_, secret) => {
    expect(redact(`It is ${secret}, again ${secret}.`, [secret])).toBe(`It is ${REDACTED}, again ${REDACTED}.`);
    expect(redact(`x${secret}y`, [secret])).toBe(`x${REDACTED}y`);
  });

  it.each([[['secret-one', 'secret-one-two']], [['secret-one-two', 'secret-one']]])(
    'redaction hides all of a secret that another is part of: %j',
    (secrets) => {
      expect(redact('long: secret-one-two, short: secret-one.', secrets)).toBe(
        `long: ${REDACTED}, short: ${REDACTED}.`,
      );
    },
  );

  it.each(LOOKS)('redaction hides what looks like %s', (_, credential) => {
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
  ])('redaction leaves ordinary text as it is: %s', (text) => {
    expect(redact(text, ['correct-horse'])).toBe(text);
  });
});

describe('a disguised secret', () => {
  it.each(SECRET_ENCODINGS)('a disguised secret is redacted %s', (_, disguise) => {
    for (const secret of ['correct-horse', 'a/b+c?d=e&f%g', 'exactly8', 'corr"ect\\horse<%41>']) {
      const disguised = disguise(secret);
      // Base64 goes on with what is beside the secret.
      expect(redact(`It is (${disguised}), again (${disguised}).`, [secret])).toMatch(
        /^It is \([\w+/]{0,6}\[redacted\][\w+/-]{0,3}={0,2}\), again \([\w+/]{0,6}\[redacted\][\w+/-]{0,3}={0,2}\)\.$/,
      );
    }
  });

  it.each(SECRET_ENCODINGS.filter(([name]) => !name.includes('Base64')))(
    'a disguised secret is redacted by its looks %s',
    (_, disguise) => {
      expect(redact(`It is (${disguise('sk-abcdefghijklmnop1234')}).`, [])).toBe(`It is (${REDACTED}).`);
    },
  );

  it('a disguised secret may have characters that are not seen, and what looks like an escape', () => {
    for (const secret of ['a\u200bvery-long-one', 'with%41percents', 'with\\u0041escapes', 'and&amp;entities']) {
      expect(redact(`It is (${secret}).`, [secret])).toBe(`It is (${REDACTED}).`);
      expect(redact(`It is (${JSON.stringify(secret).slice(1, -1)}).`, [secret])).toBe(`It is (${REDACTED}).`);
    }
  });

  it.each([
    '100 % of %41 &amp; \\u0041',
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==',
    'caf\u00ade',
    '&#x110000; %ff \\u{ffffff}',
  ])('ordinary text is not taken for a disguised secret: %s', (text) => {
    expect(redact(text, ['correct-horse'])).toBe(text);
  });

  it('a text is searched for secrets a bounded number of times: each character is decoded four times at most', () => {
    const text = `${'%25'.repeat(100_000)}41${'\\'.repeat(100_000)}&amp;${'amp;'.repeat(100_000)}`;
    expect(redact(text, ['correct-horse'])).toBe(text);
  });

  it('a disguised secret does not count where only known secrets do', () => {
    const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r';
    expect([quotesSecret(token, []), quotesKnownSecret(token, [])]).toEqual([true, false]);
    expect(quotesKnownSecret(`x${Buffer.from('correct-horse').toString('base64')}`, ['correct-horse'])).toBe(true);
  });
});

describe(scrub, () => {
  it.each([...SECRET_ENCODINGS, ['plain', (secret: string) => secret] as const])(
    'redaction shows nothing of a secret that is cut off where reading ends: %s',
    (_, disguise) => {
      for (const secret of ['correct-horse-battery-staple', 'correct horse battery staple']) {
        const disguised = disguise(secret);
        for (let cut = 1; cut <= disguised.length; cut += 7) {
          // Blanks are no part of what is shown.
          const message = `${' '.repeat(10_000 - cut)}${disguised}${'.'.repeat(10_000)}`;
          expect(['', REDACTED]).toContain(scrub(message, [secret]));
        }
      }
    },
  );
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

  it.each([...LOOKS, ['a known secret', 'correct-horse'] as const])(
    'redaction hides it over several deltas: %s',
    (_, secret) => {
      for (const length of [1, 3, secret.length - 1]) {
        const pieces = `It is (${secret})!`.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? [];
        const events = pieces.map((delta): ModelEvent => ({ type: 'text', delta }));
        const redacted = redactEvents(events, ['correct-horse']);
        expect(textOf(redacted)).toBe(`It is (${REDACTED})!`);
        expect(redacted).toHaveLength(events.length);
      }
    },
  );

  it.each([...LOOKS, ['a known secret', 'corr"ect\\horse\nof the night'] as const])(
    'redaction hides it in the arguments of a call, where it stands as JSON has it: %s',
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

  it('redaction drops log probabilities of redacted text', () => {
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

  it('redaction ends with an empty secret, which is everywhere', () => {
    expect(redact('some text', ['', 'text'])).toBe('some [redacted]');
  });

  it('redaction preserves the members that link events', () => {
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
