/** What a socket's server knows after an answer: what the next request may extend. Digests only, whatever the conversation's length. */
export interface Baseline {
  /** The upstream's id of the answer. */
  readonly responseId: string;
  /** Digest of the members that a continuation repeats. */
  readonly members: string;
  /** Number of items. */
  readonly count: number;
  /** Digest of the items. */
  readonly items: string;
}
