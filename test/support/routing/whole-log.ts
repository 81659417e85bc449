import { type DynamicModule, Logger, type LoggerService, Module, type OnModuleInit } from '@nestjs/common';

import { Notifier } from '../notifier.js';

/** Everything the service says to its operator, at every level, from its start on. */
export class WholeLog implements LoggerService, Disposable {
  /** One text for each call, with the level before it. */
  readonly lines: string[] = [];
  private readonly changes = new Notifier();

  readonly log = this.writer('log');
  readonly error = this.writer('error');
  readonly warn = this.writer('warn');
  readonly debug = this.writer('debug');
  readonly verbose = this.writer('verbose');
  readonly fatal = this.writer('fatal');

  /** A module for the service, from whose start on its words are heard. */
  asModule(): DynamicModule {
    return { module: LogModule, providers: [{ provide: WholeLog, useValue: this }] };
  }

  get text(): string {
    return this.lines.join('\n');
  }

  /** Resolves with the first line that fits, once it is there. */
  written(wanted: RegExp): Promise<string> {
    return this.changes.until(() => this.lines.find((candidate) => wanted.test(candidate)));
  }

  [Symbol.dispose](): void {
    Logger.overrideLogger(false);
  }

  private writer(level: string): (...parts: readonly unknown[]) => void {
    return (...parts) => {
      this.lines.push([level, ...parts.map(toText)].join(' '));
      this.changes.notify();
    };
  }
}

/** Errors with all that a console would show of them. */
function toText(part: unknown): string {
  if (typeof part !== 'object' || part === null) return String(part);
  const { stack, message, cause } = part as {
    readonly stack?: unknown;
    readonly message?: unknown;
    readonly cause?: unknown;
  };
  if (message === undefined) return JSON.stringify(part);
  return [stack ?? message, ...(cause === undefined ? [] : [toText(cause)])].map(String).join('\n');
}

@Module({})
class LogModule implements OnModuleInit {
  constructor(private readonly log: WholeLog) {}

  onModuleInit(): void {
    Logger.overrideLogger(this.log);
  }
}
