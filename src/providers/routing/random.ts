/** The source of randomness in routing, injected so that tests can replace it. */
export abstract class Random {
  /** A number from 0 (included) to 1 (excluded). */
  abstract next(): number;
}

/** Uses `Math.random`. */
export class SystemRandom extends Random {
  override next(): number {
    return Math.random();
  }
}
