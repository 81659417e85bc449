/** Least bits for a vector: the more, the better they tell which vectors are near. */
const LEAST_BITS = 1024;

/**
 * Bits of a vector: two vectors differ in about as many of them as the angle between them is of a half-turn. They are the signs of the numbers
 * of the vector in turned coordinates, which mix all numbers, so that none of them matters more than others. Stored bits depend on
 * every line of this: a change needs a migration.
 */
export function signsOf(vector: Float32Array): string {
  const size = 2 ** Math.ceil(Math.log2(vector.length));
  let signs = '';
  for (let turn = 0; signs.length < LEAST_BITS; turn++) {
    for (const value of turned(vector, size, turn)) signs += value > 0 ? '1' : '0';
  }
  return signs;
}

/** The Walsh–Hadamard transform of a vector in which every other number, at random, has changed its sign. */
function turned(vector: Float32Array, size: number, turn: number): Float32Array {
  const result = new Float32Array(size);
  // Xorshift: the same signs everywhere, and for each turn others.
  let state = 0x9e3779b9 ^ (turn + 1);
  for (const [index, value] of vector.entries()) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    result[index] = (state & 1) === 0 ? value : -value;
  }
  for (let half = 1; half < size; half *= 2) {
    for (let at = 0; at < size; at++) {
      if ((at & half) !== 0) continue;
      const [one, other] = [result[at] as number, result[at + half] as number];
      result[at] = one + other;
      result[at + half] = one - other;
    }
  }
  return result;
}
