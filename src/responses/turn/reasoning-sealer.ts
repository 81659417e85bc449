import type { Tenant } from '../../access/index.js';
import { writeSealedReasoning } from '../../context/index.js';
import type { PlainReasoning } from '../../providers/index.js';
import type { KeyRing, Seals } from '../../context/seals/index.js';
import { StoreUnavailableError } from '../../state/index.js';
import { isPromise } from '../../time/index.js';
import type { OutputEvent } from '../assembler/response-assembler.js';
import { requireText } from '../assembler/output-item.js';
import type { AdmittedTurn } from './admit.js';

/** Seals the reasoning of a turn, which clients give back in a later one. */
export class ReasoningSealer {
  /** Undefined before the keys were read; null if that failed, and the turn goes on without seals. */
  private ring: KeyRing | null | undefined;
  private reading: Promise<void> | undefined;

  private constructor(
    private readonly tenant: Tenant,
    /** Whether the client has asked for seals; others get them where there is reasoning, and they can be made. */
    private readonly isAsked: boolean,
    /** Whether it carries opaque data that comes without a text, too. */
    private readonly takesOpaque: boolean,
    private readonly seals: Seals,
  ) {}

  /** The sealer of a turn; null for a client that needs none: the service keeps the reasoning, and it was not asked for (protocol §9). */
  static of(
    { caller, settings, include, givesMessages: carries = false }: AdmittedTurn,
    seals: Seals,
  ): ReasoningSealer | null {
    const isAsked = include.includes('reasoning.encrypted_content');
    const isNeeded = isAsked || carries || !settings.store;
    return isNeeded ? new ReasoningSealer(caller.tenant, isAsked, isAsked || carries, seals) : null;
  }

  /**
   * Reads the keys for an event, once; undefined when they are there, or not needed. Rejects with StoreUnavailableError if the client has
   * asked for seals.
   */
  prepare(event: PlainReasoning): Promise<void> | undefined {
    if (this.ring !== undefined || !this.takes(event)) return undefined;
    if (this.reading !== undefined) return this.reading;
    const ring = this.seals.ring();
    if (isPromise(ring)) return (this.reading = this.read(ring));
    this.ring = ring;
    return undefined;
  }

  /**
   * The event with its reasoning sealed; null without keys, and for opaque data without a text that the client has not asked for. Call `prepare` before. Throws ProviderContractError for reasoning that is
   * not a text.
   */
  seal(event: PlainReasoning): OutputEvent | null {
    const { type, plain, opaque, key } = event;
    if (opaque === undefined || plain !== '') requireText(plain, 'reasoning');
    if (!this.takes(event)) return null;
    if (this.ring === undefined) throw new Error('reasoning cannot be sealed before the keys were read');
    if (this.ring === null) return null;
    const content =
      opaque === undefined
        ? this.ring.seal(this.tenant, 'reasoning', plain)
        : this.ring.seal(this.tenant, 'reasoning with data', writeSealedReasoning({ text: plain, opaque }));
    return key === undefined ? { type, content } : { type, content, key };
  }

  /** Opaque data alone makes an item only for a client that carries it. */
  private takes({ plain }: PlainReasoning): boolean {
    return this.takesOpaque || plain !== '';
  }

  private async read(ring: Promise<KeyRing>): Promise<void> {
    try {
      this.ring = await ring;
    } catch (error) {
      if (this.isAsked || !(error instanceof StoreUnavailableError)) throw error;
      this.ring = null;
    }
  }
}
