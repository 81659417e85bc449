import type { Item } from 'antiphon';

/** A response as it is kept. */
export interface StoredResponse {
  readonly id: string;
  readonly input: readonly Item[];
  readonly output: readonly Item[];
  /** All that a client sees of it. */
  readonly response: object;
  /** What it continues; it is kept alive for that, even when it is found no more. */
  readonly parent: StoredResponse | null;
  /** Roughly what it takes in memory. */
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** As the service has them without a word about them: MEMORY_MAX_RESPONSES, MEMORY_MAX_BYTES and RESPONSE_TTL. */
const MAX_RESPONSES = 100_000;
const MAX_BYTES = 256 * 1024 * 1024;
const TTL_MS = 30 * 24 * 60 * 60 * 1000;

/** Keeps responses in memory, bounded by count, bytes and age. When it is full the oldest go first. */
export class HonestStore {
  private readonly responses = new Map<string, StoredResponse>();
  /** Goes on where it was: one that begins anew would pass by all that are gone. */
  private oldest = this.responses.values();
  private bytes = 0;

  /** The response with this id, unless it is gone or too old. */
  find(id: string): StoredResponse | undefined {
    const stored = this.responses.get(id);
    return stored !== undefined && stored.expiresAt > Date.now() ? stored : undefined;
  }

  /** Keeps a response. */
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
