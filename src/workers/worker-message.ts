/** What a worker tells the primary process, once. Programs may send messages of their own over the same channel. */
export type WorkerMessage =
  | { readonly type: 'antiphon.listening'; readonly url: string }
  | { readonly type: 'antiphon.failed'; readonly reason: string };
