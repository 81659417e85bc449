import { UuidIdGenerator } from 'antiphon';

/** Ids with the region of their creation: `resp_e0…`. */
export class RegionIds extends UuidIdGenerator {
  constructor(private readonly region: string) {
    super();
  }

  override next(prefix: string): string {
    return super.next(prefix).replace('_', `_${this.region}`);
  }
}
