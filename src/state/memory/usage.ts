import type { Tenant } from '../../access/index.js';
import { RecentMap } from '../../recent-map.js';
import {
  DAY_MS,
  dayOf,
  type UsageQuery,
  type UsageRecord,
  UsageStore,
  type UsageSum,
  type UsageTokens,
} from '../usage-store.js';

/** Most sums that are kept; beyond it the oldest go. */
const MAX_SUMS = 10_000;
/** Ids of responses that are not stored and are remembered, so that a repeated record is not counted twice. */
const MAX_IDS = 10_000;

interface Sum extends UsageSum {
  turns: number;
  readonly tokens: { -readonly [K in keyof UsageTokens]: UsageTokens[K] };
}

/** Usage in memory: sums only, and bounded. */
export class MemoryUsageStore extends UsageStore {
  private readonly sums = new RecentMap<Sum>(MAX_SUMS);
  private readonly ids = new RecentMap<true>(MAX_IDS);

  /** `isStored`: whether a response is stored, and so was counted with its save. */
  constructor(private readonly isStored: (tenant: Tenant, responseId: string) => boolean) {
    super();
  }

  override async record(records: readonly UsageRecord[]): Promise<void> {
    for (const record of records) {
      const { tenant, responseId } = record;
      if (this.ids.has(responseId) || this.isStored(tenant, responseId)) continue;
      this.ids.set(responseId, true);
      this.add(record);
    }
  }

  override async report({ firstDay, endDay, tenant }: UsageQuery): Promise<readonly UsageSum[]> {
    return [...this.sums.values()]
      .filter(({ day }) => day >= firstDay && day < endDay)
      .filter((sum) => tenant === undefined || sum.tenant === tenant)
      .map((sum) => ({ ...sum, tokens: { ...sum.tokens } }));
  }

  override async purge(endedBefore: number): Promise<boolean> {
    for (const [key, { day }] of this.sums) if ((day + 1) * DAY_MS <= endedBefore) this.sums.delete(key);
    return false;
  }

  /** Adds a turn. */
  add(record: UsageRecord): void {
    const sum = this.sumOf(record);
    const { tokens } = record;
    sum.turns += 1;
    sum.tokens.input += tokens.input;
    sum.tokens.cached += tokens.cached;
    sum.tokens.output += tokens.output;
    sum.tokens.reasoning += tokens.reasoning;
  }

  private sumOf({ tenant, model, provider, keyId, endedAt }: UsageRecord): Sum {
    const day = dayOf(endedAt);
    // Lengths make it unambiguous; names may have any character.
    const key = `${day} ${tenant.length} ${model.length} ${provider?.length} ${tenant}${model}${provider}${keyId === null} ${keyId}`;
    const found = this.sums.get(key);
    if (found !== undefined) return found;
    const tokens = { input: 0, cached: 0, output: 0, reasoning: 0 };
    const sum = { day, tenant, model, provider, keyId, turns: 0, tokens };
    this.sums.set(key, sum);
    return sum;
  }
}
