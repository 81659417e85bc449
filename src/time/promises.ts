/** A value that is usually available synchronously: an unnecessary promise costs as much as a necessary one. */
export type MaybePromise<T> = T | Promise<T>;

/** Whether a value is a promise, including those of other realms and libraries. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
}

/** Goes on with a value: at once where there is nothing to wait for. What `next` throws is then thrown, otherwise the promise rejects. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** Waits for a promise until the signal aborts, then rejects with its reason: not all work listens to its signal, and some is for others, too. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
