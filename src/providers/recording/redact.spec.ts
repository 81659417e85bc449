import { describe, expect, it } from '@jest/globals';

import { findSecrets, redact } from './redact.js';

const REDACTED = '[redacted]';

/** What becomes of a text that stands in a recording. */
const redactText = (text: string, secrets: readonly string[] = []): unknown =>
  (JSON.parse(redact(JSON.stringify({ text }), secrets)) as { readonly text: unknown }).text;

describe(findSecrets, () => {
  it.each([
    ...['OPENAI_API_KEY', 'ACME_TOKEN', 'CLIENT_SECRET', 'PGPASSWORD', 'AWS_CREDENTIALS', 'DATABASE_URL'],
    ...['api_key', 'Npm_Config_Token', 'KEYSTORE'],
  ])('takes the value of %s', (name) => {
    expect(findSecrets({ [name]: 'hunter2-hunter2', HOME: '/home/ada' }, [])).toEqual(['hunter2-hunter2']);
  });

  it('leaves other variables, unset ones, and values that turn up in any text', () => {
    const variables = {
      HOME: '/home/somebody',
      MONKEY: 'short',
      API_KEY: '',
      ACME_TOKEN: undefined,
      A_SECRET: '1234567',
    };
    expect(findSecrets(variables, [])).toEqual([]);
  });

  it('takes the keys of the callers without their tenants', () => {
    expect(findSecrets({}, ['team-a:sesame-open-1', 'team-b:with:colon:inside'])).toEqual([
      'sesame-open-1',
      'with:colon:inside',
    ]);
  });
});

describe(redact, () => {
  const hash = 'sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b';

  it.each([
    ['plain', 'correct-horse'],
    ['with quotes and backslashes', 'corr"ect\\horse'],
    ['over several lines', '-----BEGIN KEY-----\nabc\tdef\n-----END KEY-----'],
    ['beyond ASCII', 'pässwörd-🗝️-ключ'],
    ['of signs that mean something in expressions', '^(a+)+$[x]{2,}|.*'],
    ['of signs that mean something in replacements', "$&-$1-$$-$'"],
    ['as long as a hash', hash],
  ])('hides a known secret, wherever it stands: %s', (_, secret) => {
    expect(redactText(`It is ${secret}, again ${secret}.`, [secret])).toBe(`It is ${REDACTED}, again ${REDACTED}.`);
    expect(redactText(`x${secret}y`, [secret])).toBe(`x${REDACTED}y`);
  });

  it('hides several, also where one is part of another', () => {
    const text = redactText('long: secret-one-two, short: secret-one.', ['secret-one', 'secret-one-two']);
    expect(text).toBe(`long: ${REDACTED}, short: ${REDACTED}.`);
  });

  /** Credentials by their look. */
  const looks: readonly (readonly [what: string, credential: string])[] = [
    ['an OpenAI key', 'sk-abcdefghijklmnop1234'],
    ['an OpenAI project key', 'sk-proj-AbCd_efgh-1234567890'],
    ['a Stripe-like public key', 'pk-live-1234567890'],
    ['a bearer token', 'Bearer abc.DEF-123~+/=='],
    ['a bearer token in another case', 'bearer abcdef123456'],
    ['a token of GitHub', 'ghp_abcdefghijklmnop1234567890'],
    ['a fine-grained token of GitHub', 'github_pat_11ABCDEFG0abcdefghij'],
    ['a token of GitLab', 'glpat-abcdefghij1234567890'],
    ['a token of Slack', 'xoxb-123456789012-abcdefghijkl'],
    ['a key of AWS', 'AKIAIOSFODNN7EXAMPLE'],
    ['a JSON web token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r'],
  ];

  it.each(looks)('hides what looks like %s', (_, credential) => {
    expect(redactText(`The key (${credential}) is wrong.`)).toBe(`The key (${REDACTED}) is wrong.`);
    expect(redactText(credential)).toBe(REDACTED);
  });

  it.each(looks)('hides it at the beginning of a line and behind a tab: %s', (_, credential) => {
    expect(redactText(`\n${credential}\n`)).toBe(`\n${REDACTED}\n`);
    expect(redactText(`Key:\t${credential}\r\n`)).toBe(`Key:\t${REDACTED}\r\n`);
  });

  it('hides it within JSON that is itself a text', () => {
    const call = JSON.stringify({ note: 'first\nsk-abcdefghijklmnop1234', key: 'corr"ect-horse' });
    const redacted = String(redactText(call, ['corr"ect-horse']));
    expect(redacted).not.toContain('abcdefghijklmnop');
    expect(redacted).not.toContain('ect-horse');
    expect(JSON.parse(redacted)).toMatchObject({ note: expect.any(String) });
  });

  it.each([
    'A risk-free, task-oriented desk-lamp for the bearer of this letter.',
    'The class is .sk-spinner, the flag --pk-x.',
    'eyJust kidding. Bearer of news. AKIA is a word.',
    '',
  ])('leaves ordinary text as it is: %s', (text) => {
    expect(redactText(text, ['correct-horse'])).toBe(text);
  });

  it('leaves what a recording is made of, whatever a secret may be', () => {
    const turn = {
      request: 'a'.repeat(64),
      steps: [{ at: 12_345_678, events: [{ type: 'reasoning_summary', delta: 'x' }] }],
    };
    const secrets = ['reasoning_summary', '12345678', 'a'.repeat(8)];
    expect(JSON.parse(redact(JSON.stringify(turn), secrets))).toEqual(turn);
  });
});
