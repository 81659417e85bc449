import { type DynamicModule, Logger, type LoggerService, Module, type OnModuleInit } from '@nestjs/common';

import { Notifier } from './notifier.js';

/** What the service tells its operator: from its start on with `asModule`, else from `begin` on. */
export class ServiceLog implements LoggerService, Disposable {
  /** One text for each call, at every level, with the level before it. */
  readonly lines: string[] = [];
  /** Warnings and worse, one text each. */
  readonly complaints: string[] = [];
  /** What is worth a line at the default level and is no complaint, one text each. */
  readonly notes: string[] = [];
  private readonly changes = new Notifier();

  readonly log = this.writer('log', this.notes);
  readonly error = this.writer('error', this.complaints);
  readonly warn = this.writer('warn', this.complaints);
  readonly fatal = this.writer('fatal', this.complaints);
  readonly debug = this.writer('debug');
  readonly verbose = this.writer('verbose');

  /** A log of a service that has started. */
  static begin(): ServiceLog {
    const log = new ServiceLog();
    Logger.overrideLogger(log);
    return log;
  }

  /** A module for the service, from whose start on its words are heard. */
  asModule(): DynamicModule {
    return { module: LogModule, providers: [{ provide: ServiceLog, useValue: this }] };
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

  private writer(level: string, texts: string[] = []): (...parts: readonly unknown[]) => void {
    return (...parts) => {
      texts.push(parts.map(String).join(' '));
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
  constructor(private readonly log: ServiceLog) {}

  onModuleInit(): void {
    Logger.overrideLogger(this.log);
  }
}
