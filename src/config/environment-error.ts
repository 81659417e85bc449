/** The environment is not valid; the message has one line per violation. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';

  constructor(violations: readonly string[]) {
    super(violations.join('\n'));
    // Nest logs the stack of an error that stops a start; the location in the code is of no use to the operator.
    this.stack = `${this.name}: ${this.message}`;
  }

  get violations(): readonly string[] {
    return this.message.split('\n');
  }
}
