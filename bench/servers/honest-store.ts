import type { Item } from 'antiphon';

/** A saved response. */
export interface StoredResponse {
  readonly id: string;
  readonly input: readonly Item[];
  readonly output: readonly Item[];
  /** The Response that clients see. */
  readonly response: object;
  /** The previous response. The reference retains it after its eviction. */
  readonly parent: StoredResponse | null;
  /** Approximate memory usage, bytes. */
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** The service's defaults of MEMORY_MAX_RESPONSES, MEMORY_MAX_BYTES and RESPONSE_TTL. */
const MAX_RESPONSES = 100_000;
const MAX_BYTES = 256 * 1024 * 1024;
const TTL_MS = 30 * 24 * 60 * 60 * 1000;

/** Saves responses in memory, bounded by count, bytes and age. Evicts the oldest first. */
export class HonestStore {
  private readonly responses = new Map<string, StoredResponse>();
  /** A persistent iterator: a new one would skip over all deleted entries. */
  private oldest = this.responses.values();
  private bytes = 0;

  /** The response with this id, unless evicted or expired. */
  find(id: string): StoredResponse | undefined {
    const stored = this.responses.get(id);
    return stored !== undefined && stored.expiresAt > Date.now() ? stored : undefined;
  }

  /** Saves a response. */
  add(response: Omit<StoredResponse, 'expiresAt'>): void {
    this.responses.set(response.id, { ...response, expiresAt: Date.now() + TTL_MS });
    this.bytes += response.bytes;
    while (this.responses.size > MAX_RESPONSES || this.bytes > MAX_BYTES) this.dropOldest();
  }

  private dropOldest(): void {
    const { value } = this.oldest.next();
    if (value === undefined) {
      this.oldest = this.responses.values();
      return;
    }
    this.responses.delete(value.id);
    this.bytes -= value.bytes;
  }
}
