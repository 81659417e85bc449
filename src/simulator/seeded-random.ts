import { createHash } from 'node:crypto';

import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Choices that look random and are the same every time for the same seed. */
export class SeededRandom {
  private readonly generator: ReturnType<typeof xoroshiro128plus>;

  /** Whatever tells one use from another makes up the seed. */
  constructor(...seed: readonly (string | number)[]) {
    this.generator = xoroshiro128plus(createHash('sha256').update(JSON.stringify(seed)).digest().readInt32LE());
  }

  /** A whole number from `from` to `to`, both included. */
  pickInteger(from: number, to: number): number {
    return uniformInt(this.generator, from, to);
  }

  /** A number from 0 up to, but without, 1. */
  pickFraction(): number {
    return uniformFloat64(this.generator);
  }

  /** A number of the standard normal distribution (Box and Muller). */
  pickNormal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.pickFraction())) * Math.cos(2 * Math.PI * this.pickFraction());
  }

  /** One element of a list that has at least one. */
  pick<T>(list: readonly T[]): T {
    return list[this.pickInteger(0, list.length - 1)] as T;
  }

  /** True in `percent` of a hundred cases. */
  happens(percent: number): boolean {
    return this.pickInteger(1, 100) <= percent;
  }

  /** The list in another order. */
  shuffle<T>(list: readonly T[]): T[] {
    const shuffled = [...list];
    for (let last = shuffled.length - 1; last > 0; last--) {
      const other = this.pickInteger(0, last);
      [shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T];
    }
    return shuffled;
  }
}
