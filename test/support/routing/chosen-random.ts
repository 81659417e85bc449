import { Random } from '../../../src/index.js';

/** Chance that a test chooses: the values it was given, one after the other, and then always the same. */
export class ChosenRandom extends Random {
  private values: number[] = [];

  /** `rest` comes when no value is left. 0.5 is the middle: pauses are as long as they are on average. */
  constructor(private rest = 0.5) {
    super();
  }

  /** The next values. */
  choose(...values: readonly number[]): this {
    this.values = [...values];
    return this;
  }

  /** From now on always this value. */
  stay(value: number): this {
    this.values = [];
    this.rest = value;
    return this;
  }

  override next(): number {
    return this.values.shift() ?? this.rest;
  }
}
