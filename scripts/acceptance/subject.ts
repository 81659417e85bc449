import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';

/** The service under test. */
export interface Subject extends AsyncDisposable {
  /** With `/v1`, without a slash at the end. */
  readonly baseUrl: string;
  /** Keys of tenants that must not see each other; at least one. */
  readonly keys: readonly [string, ...string[]];
  readonly model: string;
}

/** The command line of a command: `[url] [--key k]… [--model m]`, and numbers of its own. */
export interface Arguments {
  readonly url: string | undefined;
  readonly keys: readonly string[];
  readonly model: string;
  readonly numbers: Readonly<Record<string, number>>;
}

/** Reads the arguments of a process. `defaults` are its numbers. Throws a TypeError for what is unknown or no number. */
export function readArguments(defaults: Readonly<Record<string, number>>): Arguments {
  const own = Object.keys(defaults).map((name) => [name, { type: 'string' }] as const);
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      key: { type: 'string', multiple: true },
      model: { type: 'string', default: 'gpt-5' },
      ...Object.fromEntries(own),
    },
  });
  const numbers = Object.entries(defaults).map(([name, usual]) => {
    const given = Number((values as Readonly<Record<string, unknown>>)[name] ?? usual);
    if (!Number.isInteger(given) || given < 1) throw new TypeError(`--${name} must be a whole number from 1`);
    return [name, given] as const;
  });
  return { url: positionals[0], keys: values.key ?? [], model: values.model, numbers: Object.fromEntries(numbers) };
}

/** The service at the given address, or one that is started for the run, with `variables` and a tenant for each of `keys`. */
export async function openSubject(
  { url, keys, model }: Arguments,
  ownKeys: readonly [string, ...string[]],
  variables: Readonly<Record<string, string>> = {},
): Promise<Subject> {
  if (url !== undefined) {
    const [first = 'none', ...others] = keys;
    const baseUrl = `${url.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
    return { baseUrl, keys: [first, ...others], model, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const child = spawn(process.execPath, ['--enable-source-maps', '--max-semi-space-size=64', 'dist/main.js'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ...{ PORT: '0', HOST: '127.0.0.1', STATE: 'memory', LOG_LEVEL: 'warn' },
      API_KEYS: ownKeys.map((key, index) => `tenant-${index}:${key}`).join(','),
      ...variables,
    },
  });
  const exited = once(child, 'exit');
  const dispose = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  const origin = await Promise.race([
    new Promise<string>((resolve) => {
      let text = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        const found = /listens on (\S+)\n/.exec(text)?.[1];
        if (found !== undefined) resolve(found);
      });
    }),
    exited.then(() => {
      throw new Error('the service ended before it listened');
    }),
  ]);
  return { baseUrl: `${origin}/v1`, keys: ownKeys, model, [Symbol.asyncDispose]: dispose };
}
