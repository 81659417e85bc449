import { Injectable } from '@nestjs/common';

import type { Tenant } from '../index.js';
import type { Standing } from '../../state/index.js';
import { Clock } from '../../time/index.js';
import { Counters } from './counters.js';
import { counterKey, type LimitRule } from './limit-rule.js';
import { LimitRules } from './limit-rules.js';
import { searchesKey, socketsKey } from './tenant-quotas.js';

/** What of a counter a limit is about. */
const COUNTED = {
  requests_per_minute: 'requests',
  tokens_per_minute: 'tokens',
  concurrent_turns: 'places',
  sockets: 'places',
  searches_per_minute: 'requests',
} as const satisfies Partial<Record<keyof LimitRule, keyof Standing>>;

/** The name of a limit, as in LIMITS_FILE. */
export type LimitName = keyof typeof COUNTED;

/** A limit of a tenant, and what is used of it. */
export interface LimitState {
  readonly object: 'limit';
  readonly name: LimitName;
  /** The models that it is for, as its rule names them; null for all. */
  readonly model: string | null;
  readonly limit: number;
  readonly used: number;
  /** Unix seconds; null for a limit of what is open at once, and where nothing is counted. */
  readonly resets_at: number | null;
}

interface LimitedCounter {
  readonly key: string;
  readonly model: string | null;
  readonly limits: readonly (readonly [name: LimitName, limit: number])[];
}

/** What tenants have used of their limits. */
@Injectable()
export class TenantLimits {
  constructor(
    private readonly rules: LimitRules,
    private readonly counters: Counters,
    private readonly clock: Clock,
  ) {}

  /** The limits of a tenant, in the order of their rules: of several for one model, the first counts. Never rejects. */
  async statesOf(tenant: Tenant): Promise<readonly LimitState[]> {
    const limited = this.countersOf(tenant);
    if (limited.length === 0) return [];
    const lookedAt = limited.map(({ key, limits }) => ({
      key,
      tokenLimit: new Map(limits).get('tokens_per_minute') ?? 0,
    }));
    const standings = await this.counters.read(lookedAt);
    return limited.flatMap(({ model, limits }, index) =>
      limits.map(([name, limit]) => this.toState(name, model, limit, standings[index])),
    );
  }

  private countersOf(tenant: Tenant): readonly LimitedCounter[] {
    const found = new Map<string, LimitedCounter>();
    const add = (key: string, model: string | null, limits: Readonly<Partial<Record<LimitName, number>>>): void => {
      const present = (Object.entries(limits) as [LimitName, number | undefined][]).flatMap(([name, limit = 0]) =>
        limit > 0 ? [[name, limit] as const] : [],
      );
      if (present.length > 0 && !found.has(key)) found.set(key, { key, model, limits: present });
    };
    for (const rule of this.rules.ofTenant(tenant)) {
      const { model = null, requests_per_minute, tokens_per_minute, concurrent_turns } = rule;
      add(counterKey(rule, tenant), model, { requests_per_minute, tokens_per_minute, concurrent_turns });
    }
    add(socketsKey(tenant), null, { sockets: this.rules.socketsOf(tenant) });
    add(searchesKey(tenant), null, { searches_per_minute: this.rules.searchesOf(tenant) });
    return [...found.values()];
  }

  private toState(name: LimitName, model: string | null, limit: number, standing: Standing | undefined): LimitState {
    const counted = COUNTED[name];
    const { resetMs = 0, [counted]: used = 0 } = standing ?? {};
    const hasWindow = counted !== 'places' && resetMs > 0;
    const resetsAt = hasWindow ? Math.ceil((this.clock.now() + resetMs) / 1000) : null;
    return { object: 'limit', name, model, limit, used, resets_at: resetsAt };
  }
}
