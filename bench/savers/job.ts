/** Conversations to save concurrently, each one response after another. */
export interface SaveJob {
  readonly type: 'save';
  readonly conversations: number;
  readonly responsesPerConversation: number;
  /** Text deltas per answer. */
  readonly deltas: number;
}

/** The outcome of a save job. */
export interface SaveOutcome {
  readonly type: 'save';
  /** Time from the first save to the end of the last one. */
  readonly seconds: number;
}
