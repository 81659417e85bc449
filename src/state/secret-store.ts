/** Secrets of the service that all replicas share, such as a key that it made itself. */
export abstract class SecretStore {
  /**
   * The secret with a name. The first caller of all replicas stores its `proposal`; the others get that one. Throws
   * StoreUnavailableError.
   */
  abstract getOrCreate(name: string, proposal: string): Promise<string>;

  /** The secret with a name; undefined if there is none. Throws StoreUnavailableError. */
  abstract find(name: string): Promise<string | undefined>;
}
