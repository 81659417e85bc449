/** The source of a response, as an incremental upstream needs it to continue from its own state. */
export interface Origin {
  /** The provider's name. */
  readonly provider: string;
  /** The upstream's name of the model, when it differs. */
  readonly model?: string;
  /** The upstream's own id of the response. */
  readonly upstreamId?: string;
}

/** The upstream that has answered, without its own id of a response that it cannot go on from. */
export function withoutUpstream<T extends Origin | null>(origin: T): T {
  if (origin === null) return origin;
  const { upstreamId: _, ...rest } = origin;
  return rest as T;
}
