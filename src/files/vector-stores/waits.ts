import { tenantKey } from '../../access/index.js';
import type { OutageLog } from '../../logging/index.js';
import { type HeldStore, inOneLine, StoreUnavailableError } from '../../state/index.js';
import { Backoff, type Clock } from '../../time/index.js';

/** What does not work for so long will not, ms. */
const LONGEST_OUTAGE_MS = 86_400_000;

/** After so long without a failure an outage is over, whoever has seen its end, ms: pauses are shorter. */
const FORGOTTEN_MS = 21_600_000;

/** Pauses before what has failed is tried again. */
export const PAUSES = { firstMs: 500, longestMs: 120_000 };

/** Something that does not work at the moment, since a time, and when it has failed last (Unix ms). */
interface Wait {
  readonly since: number;
  failedAt: number;
  readonly backoff: Backoff;
  /** The stores that need it, as far as they are known. */
  readonly stores: Map<string, HeldStore>;
}

/** What does not work at the moment: the state, or the vectors of a tenant and a model. Its failures are waited for together. */
export class Waits {
  private readonly known = new Map<string, Wait>();

  constructor(
    private readonly clock: Clock,
    private readonly outages: OutageLog,
  ) {}

  /** The pause after a failure that may pass, ms; null once it has lasted too long. */
  failed(key: string): number | null {
    const now = this.clock.now();
    const known = this.known.get(key);
    // Another process may have gone on meanwhile: this is the first failure of another outage.
    const isNew = known === undefined || now - known.failedAt > FORGOTTEN_MS;
    const begun = { since: now, failedAt: now, backoff: new Backoff(this.clock, PAUSES), stores: new Map() };
    const wait = isNew ? begun : known;
    wait.failedAt = now;
    if (now - wait.since >= LONGEST_OUTAGE_MS) return null;
    this.known.set(key, wait);
    return wait.backoff.failed();
  }

  /** The outage of a key has ended. */
  succeeded(key: string): void {
    this.known.delete(key);
  }

  /** What is left of its pause, ms. */
  leftOf(key: string): number {
    return this.known.get(key)?.backoff.leftMs ?? 0;
  }

  /** The files of a store need it: they are held back during its pauses. */
  hold(key: string, store: HeldStore): void {
    this.known.get(key)?.stores.set(tenantKey(store.tenant, store.storeId), store);
  }

  /** The stores whose files would wait for what has failed before. */
  get heldBack(): readonly HeldStore[] {
    return [...this.known.values()].flatMap(({ backoff, stores }) => (backoff.isWaiting ? [...stores.values()] : []));
  }

  /** Repeats what the state does not take, after pauses, and warns of what `told` says. Throws the reason of the signal. */
  async repeat<T>(
    told: string,
    signal: AbortSignal,
    work: () => Promise<T>,
    onFailure: () => void = () => undefined,
  ): Promise<T> {
    const backoff = new Backoff(this.clock, PAUSES);
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        onFailure();
        this.outages.warn(told, inOneLine(error));
        signal.throwIfAborted();
        await this.clock.sleep(backoff.failed(), signal);
        signal.throwIfAborted();
      }
    }
  }
}
