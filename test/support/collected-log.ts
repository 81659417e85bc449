import { Logger, type LoggerService } from '@nestjs/common';

/** What the service under test would tell its operator. Begin it once the service has started. */
export class CollectedLog implements LoggerService, Disposable {
  /** Warnings and worse, one text each. */
  readonly complaints: string[] = [];
  /** What is worth a line at the default level and is no complaint, one text each. */
  readonly notes: string[] = [];

  static begin(): CollectedLog {
    const log = new CollectedLog();
    Logger.overrideLogger(log);
    return log;
  }

  warn(...parts: readonly unknown[]): void {
    this.complaints.push(parts.map(String).join(' '));
  }

  error(...parts: readonly unknown[]): void {
    this.warn(...parts);
  }

  fatal(...parts: readonly unknown[]): void {
    this.warn(...parts);
  }

  log(...parts: readonly unknown[]): void {
    this.notes.push(parts.map(String).join(' '));
  }

  [Symbol.dispose](): void {
    Logger.overrideLogger(false);
  }
}
