/** Bounds how many requests are under way at once; the others wait in their order. */
export class RequestSlots {
  private readonly waiting = new Set<() => void>();
  private taken = 0;

  constructor(private readonly most: number) {}

  /** Takes a slot: at once, without a promise, or as soon as one is free. Throws or rejects with the reason of the signal. */
  take(signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted();
    if (this.taken >= this.most) return this.turn(signal);
    this.taken += 1;
    return undefined;
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

  /** Frees a slot that was taken. */
  free(): void {
    const [next] = this.waiting;
    if (next === undefined) {
      this.taken -= 1;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}
