import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeGenerator, encode } from 'gpt-tokenizer/encoding/o200k_base';

import { anyCharacter } from '../../../test/support/any-character.js';
import { EstimatedTokens, tokenizer } from './tokenizer.js';

const PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

/** Texts in which words of many scripts, signs and spaces meet. The library skips byte order marks. */
const texts = fc
  .array(
    fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.string({ unit: anyCharacter, maxLength: 12 }),
      fc.constantFrom(
        'The garden',
        " doesn't",
        'ANTIPHON',
        '今天天气很好',
        '👩‍👩‍👧‍👦',
        'हिन्दी',
        ' naïve',
        '\r\n\n  ',
        '=-=-=',
        '\ud800',
        '\udc00x',
      ),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join('').replaceAll('\ufeff', ''));

describe('byte pairs', () => {
  it('byte pairs are the tokens of the library, in texts of all scripts', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const tokens = encode(text, PLAIN_TEXT);
        expect(tokenizer().encode(text)).toEqual(tokens);
        expect(tokenizer().countTokens(text)).toBe(tokens.length);
      }),
      { numRuns: 500 },
    );
  });

  it('byte pairs are decoded to the texts that the library gives', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const tokens = encode(text, PLAIN_TEXT);
        expect([...tokenizer().decodeGenerator(tokens)]).toEqual([...decodeGenerator(tokens)]);
      }),
    );
  });

  it.each(['\ufeffusing System;', 'a \ufeff b', '<|endoftext|>', '👩‍👩‍👧‍👦 é'])('byte pairs give %j back', (text) => {
    const tokens = tokenizer().encode(text);
    expect([...tokenizer().decodeGenerator(tokens)].join('')).toBe(text);
  });

  it('byte pairs take words of any length', () => {
    const word = '漢字仮名'.repeat(300);
    expect([...tokenizer().decodeGenerator(tokenizer().encode(word))].join('')).toBe(word);
  });

  it('byte pairs do not carry the rest of a torn character into the next text', () => {
    const [first = 0] = tokenizer().encode('\u{10348}');
    expect([...tokenizer().decodeGenerator([first])].join('')).toBe('');
    expect([...tokenizer().decodeGenerator(tokenizer().encode('next'))]).toEqual(['next']);
  });
});

describe('estimated tokens', () => {
  const estimated = new EstimatedTokens();

  it('estimated tokens join to the text that was cut, in texts of all scripts', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const tokens = estimated.encode(text);
        expect([...estimated.decodeGenerator(tokens)].join('')).toBe(text.toWellFormed());
        expect(estimated.countTokens(text)).toBe(tokens.length);
      }),
      { seed: 1 },
    );
  });

  it.each([
    'A provider yields what its model says. Antiphon adds ids, indexes, the order of events, errors and storage.',
    'Die Katze sitzt auf dem Dach und beobachtet die Vögel, während der Regen langsam aufhört.',
    '今天天气很好，我们去公园散步吧。这是一个关于人工智能的测试文本。',
    '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}',
  ])('estimated tokens are about as many as those of the library: %s', (text) => {
    const ratio = estimated.countTokens(text) / encode(text).length;
    expect(ratio).toBeGreaterThan(0.75);
    expect(ratio).toBeLessThan(1.25);
  });
});
