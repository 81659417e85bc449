import type { Tenant } from '../../access/index.js';
import { isPlainReasoning, type ModelEvent, type PlainReasoning } from '../../providers/index.js';
import type { KeyRing, Seals } from '../../seals/index.js';
import { isPromise } from '../../time/index.js';
import { type OutputEvent, requireText } from '../assembler/index.js';
import type { AdmittedTurn } from './admit.js';

/** Seals the reasoning of a turn, which clients give back in a later one. */
export class ReasoningSealer {
  private ring: KeyRing | undefined;
  private reading: Promise<void> | undefined;

  private constructor(
    private readonly tenant: Tenant,
    private readonly seals: Seals,
  ) {
    this.read();
  }

  /** The sealer of a turn; null for a client that needs none: the service keeps the reasoning, and it was not asked for (protocol §9). */
  static of({ caller, settings, include }: AdmittedTurn, seals: Seals): ReasoningSealer | null {
    const isWanted = !settings.store || include.includes('reasoning.encrypted_content');
    return isWanted ? new ReasoningSealer(caller.tenant, seals) : null;
  }

  /** The reading of the keys, if a batch needs them and they are not there yet. Rejects with StoreUnavailableError. */
  whenReady(batch: readonly ModelEvent[]): Promise<void> | undefined {
    return this.ring === undefined && batch.some(isPlainReasoning) ? this.reading : undefined;
  }

  /** The event with its reasoning sealed. Throws ProviderContractError for reasoning that is not a text. */
  seal({ type, plain, key }: PlainReasoning): OutputEvent {
    requireText(plain, 'reasoning');
    if (this.ring === undefined) throw new Error('reasoning cannot be sealed before the keys were read');
    const content = this.ring.seal(this.tenant, 'reasoning', plain);
    return key === undefined ? { type, content } : { type, content, key };
  }

  /** The turn goes on meanwhile, and fails only if it needs the keys. */
  private read(): void {
    const ring = this.seals.ring();
    if (!isPromise(ring)) {
      this.ring = ring;
      return;
    }
    this.reading = ring.then((known) => {
      this.ring = known;
    });
    this.reading.catch(() => undefined);
  }
}
