import { ApiError, type CreateResponseRequest, type InputItem } from '../../protocol/index.js';

interface Kept {
  readonly request: CreateResponseRequest;
  readonly bytes: number;
}

/**
 * The last request of each lane, for clients that only send what is new with `response.append` and repeat the model's output
 * themselves (docs/decisions). Bounded in bytes, as sent; the requests that were kept longest go first.
 */
export class AppendableRequests {
  private readonly kept = new Map<string, Kept>();
  private bytes = 0;

  constructor(private readonly maxBytes: number) {}

  keep(lane: string, request: CreateResponseRequest, bytes: number): void {
    this.drop(lane);
    this.kept.set(lane, { request, bytes });
    this.bytes += bytes;
    for (const oldest of this.kept.keys()) {
      if (this.bytes <= this.maxBytes) return;
      this.drop(oldest);
    }
  }

  /** The lane's last request with more input; it asks the model even if that one was a warm-up. Throws ApiError 400. */
  append(lane: string, input: unknown): Readonly<Record<string, unknown>> {
    const last = this.kept.get(lane)?.request;
    if (last === undefined) {
      throw ApiError.badRequest("There is no request on this lane to append to. Send 'response.create' first.", 'type');
    }
    if (!Array.isArray(input)) {
      throw ApiError.of('invalid_type', "Invalid type for 'input': expected an array of input items.", {
        param: 'input',
      });
    }
    return { ...last, generate: true, input: [...toItems(last.input), ...(input as readonly unknown[])] };
  }

  /** Bytes of a lane's last request. */
  bytesOf(lane: string): number {
    return this.kept.get(lane)?.bytes ?? 0;
  }

  clear(): void {
    this.kept.clear();
    this.bytes = 0;
  }

  private drop(lane: string): void {
    this.bytes -= this.bytesOf(lane);
    this.kept.delete(lane);
  }
}

function toItems(input: CreateResponseRequest['input']): readonly InputItem[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  return input ?? [];
}
