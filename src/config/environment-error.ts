/** The environment cannot be used; the message has one line per violation. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';

  constructor(violations: readonly string[]) {
    super(violations.join('\n'));
    // Nest logs the stack of what stops a start. Where this was thrown helps nobody to mend it.
    this.stack = `${this.name}: ${this.message}`;
  }

  get violations(): readonly string[] {
    return this.message.split('\n');
  }
}
