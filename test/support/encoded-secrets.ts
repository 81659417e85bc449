const each = (secret: string, map: (character: string, code: number) => string): string =>
  Array.from(secret)
    .map((character) => map(character, character.codePointAt(0) ?? 0))
    .join('');
const hex = (code: number, length: number): string => code.toString(16).padStart(length, '0');
const base64 = (text: string, encoding: BufferEncoding = 'base64'): string => Buffer.from(text).toString(encoding);

/** Ways in which an upstream may write a secret, so that it is not the same text and still is the secret. */
export const SECRET_ENCODINGS: readonly (readonly [name: string, encode: (secret: string) => string])[] = [
  ['in Base64', (secret) => base64(secret)],
  ['in Base64 without padding', (secret) => base64(secret).replaceAll('=', '')],
  ['in Base64 behind one byte', (secret) => base64(`:${secret}`)],
  ['in Base64 behind two bytes', (secret) => base64(`u:${secret}`)],
  ['in Base64 between others', (secret) => base64(`name:${secret};`)],
  ['in Base64 for URLs', (secret) => base64(secret, 'base64url')],
  ['in Base64 for URLs, behind bytes that need it', (secret) => base64(`ÿÿ>${secret}?~`, 'base64url')],
  ['with percents', (secret) => each(secret, (_, code) => `%${hex(code, 2)}`)],
  [
    'with some percents',
    (secret) => each(secret, (character, code) => (code % 3 === 0 ? `%${hex(code, 2).toUpperCase()}` : character)),
  ],
  ['in escapes of JSON', (secret) => each(secret, (_, code) => `\\u${hex(code, 4)}`)],
  ['in escapes of JSON in JSON', (secret) => each(secret, (_, code) => `\\\\u${hex(code, 4)}`)],
  ['in escapes of JavaScript', (secret) => each(secret, (_, code) => `\\x${hex(code, 2)}`)],
  ['with backslashes', (secret) => secret.replaceAll('-', '\\-')],
  ['in entities', (secret) => each(secret, (_, code) => `&#${code};`)],
  ['in entities with hexadecimal numbers', (secret) => each(secret, (_, code) => `&#x${hex(code, 2)};`)],
  ['in a URL in JSON', (secret) => each(secret, (_, code) => `\\u0025${hex(code, 2)}`)],
  ['in Base64 with percents', (secret) => encodeURIComponent(base64(`k${secret}`))],
  ...[
    ...['\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u00ad', '\u180e', '\u202e', '\u2066', '\ufe0f'],
    ...['\u{e0041}', '\u0000', '\u007f', '\u034f', '\u3164', '&shy;', '&#8203;', '\\u200b', '%E2%80%8B'],
  ].map(
    (invisible) =>
      [`split by ${JSON.stringify(invisible)}`, (secret: string) => Array.from(secret).join(invisible)] as const,
  ),
];
