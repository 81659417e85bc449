import { OPTIONS } from './arguments.js';
import { EXPORT_OPTIONS } from './export-arguments.js';
import { KEYS_OPTIONS } from './keys-arguments.js';
import { SIMULATE_OPTIONS } from './simulate-arguments.js';

type Row = readonly [left: string, right: string];

const SERVICE_ROWS: readonly Row[] = Object.entries(OPTIONS).map(
  ([name, { value, variable, help }]) => [`--${name} ${value}`, `${variable}: ${help}`] as const,
);
const EXPORT_ROWS: readonly Row[] = Object.entries(EXPORT_OPTIONS).map(
  ([name, { value, help }]) => [value === undefined ? `--${name}` : `--${name} ${value}`, help] as const,
);
const KEYS_ROWS: readonly Row[] = Object.entries(KEYS_OPTIONS).map(
  ([name, { value, help }]) => [`--${name} ${value}`, help] as const,
);
const SIMULATE_ROWS: readonly Row[] = Object.entries(SIMULATE_OPTIONS).map(
  ([name, { value, variable, help }]) => [`--${name} ${value}`, `${variable}: ${help}`] as const,
);
const OTHER_ROWS: readonly Row[] = [
  ['--help, -h', 'show this text'],
  ['--version', 'show the version'],
];

const WIDTH = Math.max(
  ...[...SERVICE_ROWS, ...EXPORT_ROWS, ...KEYS_ROWS, ...SIMULATE_ROWS, ...OTHER_ROWS].map(([left]) => left.length),
);

function toLines(rows: readonly Row[]): string {
  return rows.map(([left, right]) => `  ${left.padEnd(WIDTH)}  ${right}`).join('\n');
}

/** The answer to `--help`. */
export const HELP = `Usage: antiphon [options]
       antiphon check [options] [file …]
       antiphon simulate [options] [script…]
       antiphon export [options] > file
       antiphon import < file
       antiphon keys create <id> --tenant <name> [options]
       antiphon keys list | revoke <id>

Serves OpenAI's Responses API over HTTP and WebSocket. Without options and variables, the built-in simulator answers on
http://127.0.0.1:8080. \`check\` looks at variables, files, state and upstreams without starting anything, or at scripts and recordings of the
simulator when it is given files. \`simulate\` starts a service for tests: it stores nothing, answers with scripts, and prints its URL when it
is ready. \`export\` writes everything that STATE stores as JSON Lines, and \`import\` reads that into another one, while no service uses
them. \`keys\` changes the file of keys, which services read again by themselves; a new key is shown once.

Options of the service and of \`check\`, with the variable that each overrides:
${toLines(SERVICE_ROWS)}

Options of \`export\`; \`import\` has none. Both read the variables STATE, STATE_DIR, DATABASE_… and REDIS_…:
${toLines(EXPORT_ROWS)}

Options of \`keys\`:
${toLines(KEYS_ROWS)}

Options of \`simulate\`; the other variables apply too (docs/simulator.md):
${toLines(SIMULATE_ROWS)}

Other options:
${toLines(OTHER_ROWS)}

Everything else is set by environment variables or in a file .env: see .env.example and docs/ of the package.
Exit codes: 0 when all went well, 1 after a fault, 2 when the arguments are not understood.
`;
