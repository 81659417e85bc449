import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { Injectable, type OnModuleDestroy } from '@nestjs/common';

import { Clock, type Timer } from '../../time/index.js';

const MEGABYTE = 1024 * 1024;

/** Bytes of bodies that are worth a collection. */
const WORTH_BYTES = 64 * MEGABYTE;
/** How long no body has been held before the collection, ms. */
const REST_MS = 10_000;
/** The largest heap before the bodies that is collected after them: what lives in it holds the event loop for 50 ms. */
const LARGEST_HEAP_BYTES = 64 * MEGABYTE;

/**
 * Collects what large bodies have left once the process rests. V8 collects when it allocates: after a flood of bodies, an idle process would keep
 * hundreds of megabytes of them.
 */
@Injectable()
export class BodyGarbage implements OnModuleDestroy {
  private bytes = 0;
  private heapBefore = 0;
  private timer: Timer | null = null;

  constructor(private readonly clock: Clock) {}

  /** So many bytes more are held. */
  add(bytes: number): void {
    // Afterwards, the heap has what the bodies have left.
    if (this.bytes === 0) this.heapBefore = getHeapStatistics().used_heap_size;
    this.bytes += bytes;
    this.timer?.cancel();
    this.timer = null;
  }

  /** No body is held any more. */
  rest(): void {
    if (this.bytes >= WORTH_BYTES) this.timer ??= this.clock.schedule(REST_MS, () => this.collect());
  }

  onModuleDestroy(): void {
    this.timer?.cancel();
  }

  private collect(): void {
    this.timer = null;
    this.bytes = 0;
    if (this.heapBefore <= LARGEST_HEAP_BYTES) collectGarbage();
  }
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // Contexts that are made later do not get `gc`.
  setFlagsFromString('--no-expose-gc');
  collect();
}
