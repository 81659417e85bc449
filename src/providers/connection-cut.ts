/**
 * Thrown by a provider that plays a broken network: the client's connection ends in the middle of the answer, without a
 * word. As with a client that left, nothing is stored.
 */
export class ConnectionCutError extends Error {
  override readonly name = 'ConnectionCutError';

  constructor() {
    super('the provider cut the connection off');
  }
}
