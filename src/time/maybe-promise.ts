/** What is there at once in most cases, and has to be waited for in the others: a promise for nothing costs as much as one for something. */
export type MaybePromise<T> = T | Promise<T>;

/** Whether a value has to be waited for. Also for promises that are not of this realm, or of a library. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
}
