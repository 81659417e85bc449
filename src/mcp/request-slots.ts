/** Bounds how many requests are under way at once; the others wait in their order. */
export class RequestSlots {
  private readonly waiting = new Set<() => void>();
  private taken = 0;

  constructor(private readonly most: number) {}

  /** Waits for a slot, and resolves with what frees it. Rejects with the reason of the signal. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.taken < this.most) this.taken += 1;
    else await this.turn(signal);
    return () => this.free();
  }

  /** Waits until another request passes its slot on. */
  private turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.waiting.delete(begin);
        reject(signal.reason as Error);
      };
      this.waiting.add(begin);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  private free(): void {
    const [next] = this.waiting;
    if (next === undefined) {
      this.taken -= 1;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}
