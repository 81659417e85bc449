import { parseArgs } from 'node:util';

/** What `npm run load:sessions` was asked for. */
export interface SessionsOptions {
  /** Where the API begins, such as `http://127.0.0.1:8080/v1`. Undefined: a service of its own. */
  readonly url: string | undefined;
  /** A key for each tenant; sessions are dealt to them in turn. */
  readonly keys: readonly string[];
  readonly model: string;
  readonly sessions: number;
  readonly turns: number;
}

/** An invalid command line. Its message is one line. */
export class OptionError extends Error {}

/** Reads the command line. Throws an OptionError. */
export function readOptions(args: readonly string[]): SessionsOptions {
  const { values, positionals } = parse(args);
  const [url, ...others] = positionals;
  if (others.length > 0 || (url !== undefined && !URL.canParse(url)))
    throw new OptionError('expected one URL, such as http://127.0.0.1:8080/v1');
  return {
    url,
    keys: values.key ?? [process.env['OPENAI_API_KEY'] ?? 'none'],
    model: values.model ?? 'gpt-5',
    sessions: readCount('--sessions', values.sessions ?? '1000'),
    turns: readCount('--turns', values.turns ?? '3'),
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { key: { type: 'string', multiple: true }, model: text, sessions: text, turns: text },
    });
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error));
  }
}

function readCount(name: string, text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new OptionError(`${name}: expected a whole number above 0, but got '${text}'`);
}
