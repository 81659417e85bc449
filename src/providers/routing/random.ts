/** The only source of chance in routing, so that tests can choose it. */
export abstract class Random {
  /** From 0 up to, but not, 1. */
  abstract next(): number;
}

/** Chance as it is. */
export class SystemRandom extends Random {
  override next(): number {
    return Math.random();
  }
}
