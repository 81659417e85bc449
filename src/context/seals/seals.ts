import type { MaybePromise } from '../../time/index.js';
import type { KeyRing } from './key-ring.js';

/** The keys of the service. */
export abstract class Seals {
  /**
   * The key ring: from SEAL_KEYS or, without it, with a key that all replicas share through their state, which is read
   * once. Rejects with StoreUnavailableError.
   */
  abstract ring(): MaybePromise<KeyRing>;

  /**
   * The key ring that opens some seals of our form. With SEAL_KEYS it has the key that the service made before too, which is only read for a
   * seal of a key that is not known. Rejects with StoreUnavailableError.
   */
  abstract ringFor(seals: Iterable<string>): MaybePromise<KeyRing>;
}
