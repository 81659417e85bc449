/** Conversations that are saved side by side, each one response after the other. */
export interface SaveJob {
  readonly type: 'save';
  readonly conversations: number;
  readonly responsesPerConversation: number;
  /** Text deltas in each answer. */
  readonly deltas: number;
}

/** How long it took. */
export interface SaveOutcome {
  readonly type: 'save';
  /** From the first save to the end of the last one. */
  readonly seconds: number;
}
