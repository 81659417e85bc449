import { isatty } from 'node:tty';
import { inspect } from 'node:util';

import { ConsoleLogger, type ConsoleLoggerOptions, type LogLevel } from '@nestjs/common';

import { type Environment, LEVELS } from '../config/index.js';
import { escapeJson, escapeLine, escapeLines } from './escape.js';
import { LogLine } from './log-line.js';
import { countLost, countUnread, isBehind, surviveErrors } from './lost-lines.js';

/** Nest's reports of modules and routes: about a hundred lines per start. */
const ASSEMBLY: ReadonlySet<unknown> = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
  'WebSocketsController',
]);

/** The levels of lines in JSON, in the words that collectors of logs know. */
const JSON_LEVELS: Readonly<Record<LogLevel, string>> = {
  fatal: 'error',
  error: 'error',
  warn: 'warn',
  log: 'info',
  debug: 'debug',
  verbose: 'debug',
};

/** What is written of the times of lines. */
const CLOCKS = {
  iso: () => new Date().toISOString(),
  epoch: () => Date.now(),
} as const satisfies Record<Environment['LOG_TIME'], () => unknown>;

/** What a logger goes by. */
export type LogVariables = Pick<Environment, 'LOG_LEVEL' | 'LOG_LEVELS' | 'LOG_FORMAT' | 'LOG_TIME'>;

/**
 * The logger of the service. What Nest reports of its start is for debugging. Whatever is logged is escaped here, so that
 * no text of a client can forge a line; only stacks have line breaks.
 */
class ServiceLogger extends ConsoleLogger {
  private readonly levels: PartLevels;
  private readonly time: () => string | number;
  /** Whether the last line was left out and counted, as its stack is then. */
  private isLeftOut = false;

  constructor(
    options: ConsoleLoggerOptions,
    { LOG_LEVEL, LOG_LEVELS, LOG_TIME }: LogVariables,
    private readonly stream: 'stderr' | undefined,
  ) {
    const levels = new PartLevels(LOG_LEVEL, LOG_LEVELS);
    super('Antiphon', { ...options, logLevels: [...levels.most] });
    this.levels = levels;
    this.time = CLOCKS[LOG_TIME];
  }

  override log(message: unknown, ...rest: unknown[]): void {
    if (ASSEMBLY.has(rest.at(-1))) this.debug(message, ...rest);
    else if (this.permits('log', rest)) super.log(message, ...rest);
  }

  /** Nest logs why the application cannot listen, and throws it too: whoever starts the service says it. */
  override error(message: unknown, ...rest: unknown[]): void {
    if (rest.at(-1) === 'NestApplication') this.debug(message, ...rest);
    else if (this.permits('error', rest)) super.error(message, ...rest);
  }

  override fatal(message: unknown, ...rest: unknown[]): void {
    if (this.permits('fatal', rest)) super.fatal(message, ...rest);
  }

  override warn(message: unknown, ...rest: unknown[]): void {
    if (this.permits('warn', rest)) super.warn(message, ...rest);
  }

  override debug(message: unknown, ...rest: unknown[]): void {
    if (this.permits('debug', rest)) super.debug(message, ...rest);
  }

  override verbose(message: unknown, ...rest: unknown[]): void {
    if (this.permits('verbose', rest)) super.verbose(message, ...rest);
  }

  /** The part that logs is the last argument. */
  private permits(level: LogLevel, rest: readonly unknown[]): boolean {
    return this.levels.permits(rest.at(-1), level);
  }

  protected override printMessages(...args: Parameters<ConsoleLogger['printMessages']>): void {
    const [messages, context, level, given, ...rest] = args;
    const stream = this.stream ?? given ?? 'stdout';
    this.isLeftOut = isBehind(stream);
    if (this.isLeftOut) {
      countUnread(stream, messages.length);
      return;
    }
    super.printMessages(messages, context, level, stream, ...rest);
    const news = countLost(stream, messages.length);
    if (news !== undefined) super.printMessages([news], 'Log', 'warn', stream);
  }

  protected override stringifyMessage(message: unknown, logLevel: LogLevel): string {
    const resolved = this.resolveMessage(message);
    const text =
      typeof resolved === 'string' || resolved instanceof LogLine
        ? escapeLine(String(resolved))
        : // Escaping would break the colours of `inspect`.
          escapeLines(inspect(resolved, { ...this.inspectOptions, colors: false }));
    return this.colorize(text, logLevel);
  }

  protected override stringifyParams(params: Record<string, unknown>): string {
    return escapeLine(inspect(params, { ...this.inspectOptions, colors: false, compact: true, breakLength: Infinity }));
  }

  protected override getTimestamp(): string {
    return String(this.time());
  }

  /** Writes a line as docs/operations.md describes it. What is logged cannot replace its own members. */
  protected override printAsJson(...[message, options]: Parameters<ConsoleLogger['printAsJson']>): void {
    const { context, logLevel, writeStreamType = 'stdout', errorStack, params, error } = options;
    const own = {
      level: JSON_LEVELS[logLevel],
      time: this.time(),
      pid: process.pid,
      context,
      message: this.toText(message),
    };
    const stack = errorStack === undefined ? {} : { error: { stack: errorStack } };
    const failure = error === undefined ? stack : { error: this.serializeError(error) };
    const members: Readonly<Record<string, unknown>> | undefined = params;
    // What is made for each turn has plain values: Nest's way, which takes any, takes several times as long.
    const json =
      message instanceof LogLine
        ? escapeJson(JSON.stringify(Object.assign({}, own, message)))
        : this.stringifyJsonLogObject({ ...own, ...members, ...own, ...failure });
    process[writeStreamType].write(`${json}\n`);
  }

  private toText(message: unknown): string {
    if (typeof message === 'string' || message instanceof LogLine) return String(message);
    return inspect(message, { ...this.inspectOptions, colors: false });
  }

  protected override stringifyJsonLogObject(logObject: Record<string, unknown>): string {
    return escapeJson(super.stringifyJsonLogObject(logObject));
  }

  protected override printStackTrace(stack: string): void {
    // Undefined where there is none, against its type.
    if ((stack as string | undefined) && !this.isLeftOut) super.printStackTrace(escapeLines(stack));
  }
}

/**
 * The logger configured by LOG_LEVEL, LOG_LEVELS, LOG_FORMAT and LOG_TIME. It writes errors to stderr and the rest to stdout, unless all goes
 * to one `stream`. Errors of
 * these streams do not end the process from then on.
 */
export function createLogger(variables: LogVariables, stream?: 'stderr'): ConsoleLogger {
  const { LOG_FORMAT } = variables;
  for (const used of stream === undefined ? (['stdout', 'stderr'] as const) : [stream]) surviveErrors(used);
  const options = {
    json: LOG_FORMAT === 'json',
    colors: LOG_FORMAT === 'text' && isatty(process[stream ?? 'stdout'].fd),
  };
  return new ServiceLogger(options, variables, stream);
}

/** What is logged of each part of the service: LOG_LEVEL, and LOG_LEVELS for some of them. */
class PartLevels {
  /** All that some part logs. */
  readonly most: readonly LogLevel[];
  private readonly ranks: ReadonlyMap<unknown, number>;
  private readonly rank: number;

  constructor(level: LogLevel, ofParts: Readonly<Record<string, LogLevel>>) {
    this.rank = LEVELS.indexOf(level);
    this.ranks = new Map(Object.entries(ofParts).map(([part, own]) => [part, LEVELS.indexOf(own)]));
    this.most = LEVELS.slice(0, Math.max(this.rank, ...this.ranks.values()) + 1);
  }

  /** Whether a part logs lines of a level. */
  permits(part: unknown, level: LogLevel): boolean {
    return LEVELS.indexOf(level) <= (this.ranks.get(part) ?? this.rank);
  }
}
