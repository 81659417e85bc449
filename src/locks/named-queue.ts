/** A place in a queue. */
export interface Place {
  /** Whether it was the first when it was taken. */
  readonly isFirst: boolean;
  /** Resolves when it is first in the queue. */
  readonly turn: Promise<unknown>;

  /** Leaves the queue, at any position. */
  leave(): void;
}

/** Queues by name, first in, first out. */
export class NamedQueue {
  private readonly queues = new Map<string, PromiseWithResolvers<undefined>[]>();

  join(name: string): Place {
    const queue = this.queues.get(name) ?? [];
    const place = Promise.withResolvers<undefined>();
    queue.push(place);
    this.queues.set(name, queue);
    queue[0]?.resolve(undefined);
    return {
      isFirst: queue[0] === place,
      turn: place.promise,
      leave: () => {
        const index = queue.indexOf(place);
        if (index >= 0) queue.splice(index, 1);
        queue[0]?.resolve(undefined);
        if (queue.length === 0 && this.queues.get(name) === queue) this.queues.delete(name);
      },
    };
  }
}
