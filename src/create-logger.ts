import { isatty } from 'node:tty';

import { ConsoleLogger } from '@nestjs/common';

import type { Environment } from './config/index.js';

/** Nest's reports of modules and routes: about a hundred lines per start. */
const ASSEMBLY: ReadonlySet<unknown> = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
  'WebSocketsController',
]);

/** The logger of the service: what Nest reports of its start is for debugging. */
class ServiceLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    if (ASSEMBLY.has(rest.at(-1))) super.debug(message, ...rest);
    else super.log(message, ...rest);
  }
}

/** The logger configured by LOG_LEVEL and LOG_FORMAT. */
export function createLogger({ LOG_LEVEL, LOG_FORMAT }: Environment): ConsoleLogger {
  return new ServiceLogger('Antiphon', {
    logLevels: levelsFrom(LOG_LEVEL),
    json: LOG_FORMAT === 'json',
    colors: LOG_FORMAT === 'text' && isatty(process.stdout.fd),
  });
}

function levelsFrom(level: Environment['LOG_LEVEL']): Environment['LOG_LEVEL'][] {
  const levels: Environment['LOG_LEVEL'][] = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'];
  return levels.slice(0, levels.indexOf(level) + 1);
}
