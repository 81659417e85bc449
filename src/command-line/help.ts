import { OPTIONS } from './arguments.js';
import { EXPORT_OPTIONS } from './export-arguments.js';

const ROWS: readonly (readonly [left: string, right: string])[] = [
  ...Object.entries(OPTIONS).map(
    ([name, { value, variable, help }]) => [`--${name} ${value}`, `${variable}: ${help}`] as const,
  ),
  ...Object.entries(EXPORT_OPTIONS).map(
    ([name, { value, help }]) => [value === undefined ? `--${name}` : `--${name} ${value}`, help] as const,
  ),
  ['--help, -h', 'show this text'],
  ['--version', 'show the version'],
];

const WIDTH = Math.max(...ROWS.map(([left]) => left.length));

/** The answer to `--help`. */
export const HELP = `Usage: antiphon [options]
       antiphon export [options] > file
       antiphon import < file

Serves OpenAI's Responses API over HTTP and WebSocket. Without options and variables, the built-in simulator answers on
http://127.0.0.1:8080. \`export\` writes everything that STATE stores as JSON Lines, and \`import\` reads that into another one, while no
service uses them.

Options, with the variable that each overrides, if any:
${ROWS.map(([left, right]) => `  ${left.padEnd(WIDTH)}  ${right}`).join('\n')}

Everything else is set by environment variables or in a file .env: see .env.example of the package.
`;
