/** One token: how a byte-level vocabulary spells it, its kind, and how much likelier than others it is, as a logit. */
export interface Token {
  readonly spelling: string;
  readonly kind: 'normal' | 'control' | 'user_defined';
  readonly lean: number;
}

/** The numbers llama.cpp knows the kinds by. */
export const TOKEN_KIND = { normal: 1, control: 3, user_defined: 4 };

/** Visible bytes of Latin-1 are spelt as themselves, all others by characters from U+0100 on. */
const SPELLING = spellBytes();

const CHARACTERS = ['é', 'ß', 'я', 'ﷺ', '日', '本', '한', '🙂', '👩‍🚀', '🇵🇹'];

/**
 * A token for every byte, so that a text has as many tokens as bytes, a few characters of several bytes, and markers.
 * Most of what is drawn can be read; some of it is control characters, and bytes that are no UTF-8.
 */
export const VOCABULARY: readonly Token[] = [
  ...Array.from({ length: 256 }, (_, byte): Token => ({ spelling: spell([byte]), kind: 'normal', lean: leanOf(byte) })),
  ...CHARACTERS.map((character): Token => ({ spelling: spell(Buffer.from(character)), kind: 'normal', lean: 3 })),
  { spelling: '<|im_start|>', kind: 'control', lean: -20 },
  { spelling: '<|im_end|>', kind: 'control', lean: 3 },
  { spelling: '<think>', kind: 'user_defined', lean: -20 },
  { spelling: '</think>', kind: 'user_defined', lean: 5 },
  { spelling: '<tool_call>', kind: 'user_defined', lean: 4 },
  { spelling: '</tool_call>', kind: 'user_defined', lean: -20 },
];

/** The token that ends a message. */
export const END_OF_MESSAGE = VOCABULARY.findIndex(({ spelling }) => spelling === '<|im_end|>');

function leanOf(byte: number): number {
  return isPrintable(byte) ? 2 : 0;
}

function isPrintable(byte: number): boolean {
  return byte >= 0x20 && byte < 0x7f;
}

/** Bytes as GPT-2's vocabulary spells them: a visible character for each. */
function spell(bytes: Iterable<number>): string {
  return Array.from(bytes, (byte) => String.fromCodePoint(SPELLING[byte] ?? byte)).join('');
}

function spellBytes(): number[] {
  let next = 0x100;
  const isVisible = (byte: number): boolean => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  return Array.from({ length: 256 }, (_, byte) => (isVisible(byte) ? byte : next++));
}
