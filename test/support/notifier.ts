/** Lets tests wait for what something notes: it notifies them, and they look again. */
export class Notifier {
  private wake = Promise.withResolvers<undefined>();

  notify(): void {
    this.wake.resolve(undefined);
    this.wake = Promise.withResolvers();
  }

  /** Resolves with what is found, as soon as it is. Rejects when looking throws. */
  async until<T>(look: () => T | undefined): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      await this.wake.promise;
    }
  }
}
