/**
 * A provider throws this to close the client's connection in the middle of the answer, without an error event. The response is
 * not saved, as after a disconnect by the client.
 */
export class BreakConnectionError extends Error {
  override readonly name = 'BreakConnectionError';

  constructor() {
    super("the provider broke the client's connection");
  }
}
