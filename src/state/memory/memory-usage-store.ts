import { dayOf, type UsageQuery, type UsageRecord, UsageStore, type UsageSum } from '../usage-store.js';

/** Most sums that are kept; beyond it the oldest go. */
const MAX_SUMS = 10_000;
/** Response ids that are remembered, so that a repeated record is not counted twice. */
const MAX_IDS = 10_000;

type Sum = UsageSum & { readonly expiresAt: number };

/** Usage in memory: sums only, and bounded. */
export class MemoryUsageStore extends UsageStore {
  private readonly sums = new Map<string, Sum>();
  private readonly ids = new Set<string>();

  override async record(records: readonly UsageRecord[]): Promise<void> {
    for (const record of records) {
      if (this.ids.has(record.responseId)) continue;
      remember(this.ids, record.responseId);
      this.add(record);
    }
  }

  override async report({ firstDay, endDay, tenant }: UsageQuery): Promise<readonly UsageSum[]> {
    return [...this.sums.values()]
      .filter(({ day }) => day >= firstDay && day < endDay)
      .filter((sum) => tenant === undefined || sum.tenant === tenant)
      .map(({ expiresAt: _, ...sum }) => sum);
  }

  override async purge(now: number): Promise<boolean> {
    for (const [key, { expiresAt }] of this.sums) if (expiresAt <= now) this.sums.delete(key);
    return false;
  }

  private add({ tenant, model, provider, keyId, endedAt, expiresAt, tokens }: UsageRecord): void {
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
      // A sum lives as long as its latest record.
      expiresAt: Math.max(sum?.expiresAt ?? 0, expiresAt),
    });
    if (this.sums.size > MAX_SUMS) this.sums.delete(this.sums.keys().next().value ?? '');
  }
}

function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  if (ids.size > MAX_IDS) ids.delete(ids.values().next().value ?? '');
}
