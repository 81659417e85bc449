/**
 * Thrown by a provider, has the client's connection broken in the middle of the answer, without a word. As with a client that
 * left, nothing is stored.
 */
export class BreakConnectionError extends Error {
  override readonly name = 'BreakConnectionError';

  constructor() {
    super("the provider broke the client's connection");
  }
}
