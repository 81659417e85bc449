import { DAY_MS, dayOf, type UsageQuery, type UsageRecord, UsageStore, type UsageSum } from '../usage-store.js';

/** Most sums that are kept; beyond it the oldest go. */
const MAX_SUMS = 10_000;
/** Response ids that are remembered, so that a repeated record is not counted twice. */
const MAX_IDS = 10_000;

/** Usage in memory: sums only, and bounded. */
export class MemoryUsageStore extends UsageStore {
  private readonly sums = new Map<string, UsageSum>();
  private readonly ids = new Set<string>();

  override async record(records: readonly UsageRecord[]): Promise<void> {
    for (const record of records) this.add(record);
  }

  override async report({ firstDay, endDay, tenant }: UsageQuery): Promise<readonly UsageSum[]> {
    return [...this.sums.values()]
      .filter(({ day }) => day >= firstDay && day < endDay)
      .filter((sum) => tenant === undefined || sum.tenant === tenant);
  }

  override async purge(endedBefore: number): Promise<boolean> {
    for (const [key, { day }] of this.sums) if ((day + 1) * DAY_MS <= endedBefore) this.sums.delete(key);
    return false;
  }

  /** Adds a turn, unless it is among the latest already. */
  add({ responseId, tenant, model, provider, keyId, endedAt, tokens }: UsageRecord): void {
    if (this.ids.has(responseId)) return;
    remember(this.ids, responseId);
    const day = dayOf(endedAt);
    const key = JSON.stringify([day, tenant, model, provider, keyId]);
    const sum = this.sums.get(key);
    this.sums.set(key, {
      ...{ day, tenant, model, provider, keyId },
      turns: (sum?.turns ?? 0) + 1,
      tokens: {
        input: (sum?.tokens.input ?? 0) + tokens.input,
        cached: (sum?.tokens.cached ?? 0) + tokens.cached,
        output: (sum?.tokens.output ?? 0) + tokens.output,
        reasoning: (sum?.tokens.reasoning ?? 0) + tokens.reasoning,
      },
    });
    if (this.sums.size > MAX_SUMS) this.sums.delete(this.sums.keys().next().value ?? '');
  }
}

function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  if (ids.size > MAX_IDS) ids.delete(ids.values().next().value ?? '');
}
