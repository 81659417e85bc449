import { createLogger } from './create-logger.js';

/**
 * Writes a line of a program that has no logger yet, or never one: to stderr for the level `error`, otherwise to stdout. With
 * LOG_FORMAT=json it is a line as all others, otherwise the text alone. Of the variables it reads only what it needs, as they may be what is
 * wrong.
 */
export function writeLine(level: 'log' | 'error', text: string): void {
  const logger = jsonLogger();
  if (logger !== undefined) logger[level](text);
  else (level === 'error' ? process.stderr : process.stdout).write(`${text}\n`);
}

/**
 * With LOG_FORMAT=json, logs also what Node itself writes of a program: why it crashes, and warnings. For programs, as it is for the whole
 * process.
 */
export function logNodeMessages(): void {
  const logger = jsonLogger();
  if (logger === undefined) return;
  process.on('uncaughtException', (error: unknown) => {
    logger.fatal('the process ends because of an error that nothing has caught', error);
    process.exit(1);
  });
  process.removeAllListeners('warning');
  process.on('warning', (warning) => logger.warn(warning.message, warning));
}

function jsonLogger(): ReturnType<typeof createLogger> | undefined {
  const { LOG_FORMAT, LOG_TIME } = process.env;
  if (LOG_FORMAT !== 'json') return undefined;
  return createLogger({
    LOG_FORMAT,
    LOG_TIME: LOG_TIME === 'epoch' ? 'epoch' : 'iso',
    LOG_LEVEL: 'log',
    LOG_LEVELS: {},
  });
}
