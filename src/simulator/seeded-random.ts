import { hash } from 'node:crypto';

import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** A pseudorandom generator, deterministic for a seed. */
export class SeededRandom {
  private readonly seed: readonly (string | number)[];
  private seeded: ReturnType<typeof xoroshiro128plus> | null = null;

  /** The seed may have several parts. */
  constructor(...seed: readonly (string | number)[]) {
    this.seed = seed;
  }

  /** Made by the first draw: many turns draw nothing. */
  private get generator(): ReturnType<typeof xoroshiro128plus> {
    this.seeded ??= xoroshiro128plus(hash('sha256', JSON.stringify(this.seed), 'buffer').readInt32LE());
    return this.seeded;
  }

  /** An integer from `from` to `to`, both included. */
  pickInteger(from: number, to: number): number {
    return uniformInt(this.generator, from, to);
  }

  /** A number from 0 (included) to 1 (excluded). */
  pickFraction(): number {
    return uniformFloat64(this.generator);
  }

  /** A number from the standard normal distribution (Box–Muller transform). */
  pickNormal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.pickFraction())) * Math.cos(2 * Math.PI * this.pickFraction());
  }

  /** An element of a non-empty list. */
  pick<T>(list: readonly T[]): T {
    return list[this.pickInteger(0, list.length - 1)] as T;
  }

  /** True with a probability of `percent`. */
  happens(percent: number): boolean {
    return this.pickInteger(1, 100) <= percent;
  }

  /** A shuffled copy of the list. */
  shuffle<T>(list: readonly T[]): T[] {
    const shuffled = [...list];
    for (let last = shuffled.length - 1; last > 0; last--) {
      const other = this.pickInteger(0, last);
      [shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T];
    }
    return shuffled;
  }
}
