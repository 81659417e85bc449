/** Lets tests wait for what something notes: it tells that there is news, and they look again. */
export class News {
  private wake = Promise.withResolvers<undefined>();

  tell(): void {
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
