import fc from 'fast-check';

/**
 * A character of Unicode, whole or not assigned. The unit `binary` of fast-check has the same ones, and a table of all of them: over a second of
 * CPU and 100 MB in every worker.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: 0x10_f7_ff })
  .map((index) => String.fromCodePoint(index < 0xd8_00 ? index : index + 0x8_00));
