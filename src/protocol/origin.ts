/** Where an item or a response came from: what an incremental upstream needs to go on from its own state. */
export interface Origin {
  /** The provider's name. */
  readonly provider: string;
  /** The name of the model there, where it has another. */
  readonly model?: string;
  /** The upstream's own id of the response. */
  readonly upstreamId?: string;
}
