/** A message from a worker to the primary process, sent once. Programs may send other messages over the same channel. */
export type WorkerMessage =
  | { readonly type: 'antiphon.listening'; readonly url: string }
  | { readonly type: 'antiphon.failed'; readonly reason: string };
