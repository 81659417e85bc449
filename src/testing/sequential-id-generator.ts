import { IdGenerator, type IdPrefix } from '../protocol/index.js';

/** Generates the same ids in every run: `resp_…01`, `msg_…02` and so on. */
export class SequentialIdGenerator extends IdGenerator {
  private count = 0;

  override next(prefix: IdPrefix): string {
    this.count += 1;
    return `${prefix}_${this.count.toString(16).padStart(32, '0')}`;
  }
}
