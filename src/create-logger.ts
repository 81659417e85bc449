import { isatty } from 'node:tty';

import { ConsoleLogger } from '@nestjs/common';

import type { Environment } from './config/index.js';

/** The logger configured by LOG_LEVEL and LOG_FORMAT. */
export function createLogger({ LOG_LEVEL, LOG_FORMAT }: Environment): ConsoleLogger {
  return new ConsoleLogger('Antiphon', {
    logLevels: levelsFrom(LOG_LEVEL),
    json: LOG_FORMAT === 'json',
    colors: LOG_FORMAT === 'text' && isatty(process.stdout.fd),
  });
}

function levelsFrom(level: Environment['LOG_LEVEL']): Environment['LOG_LEVEL'][] {
  const levels: Environment['LOG_LEVEL'][] = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'];
  return levels.slice(0, levels.indexOf(level) + 1);
}
