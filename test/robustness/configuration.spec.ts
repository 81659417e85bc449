import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from '@jest/globals';

import { Environment, EnvironmentError, readEnvironment, readTogether } from '../../src/config/index.js';
import { readSimulatorVariables, SimulatorVariables } from '../../src/simulator/index.js';

type Variables = Readonly<Record<string, unknown>>;

const DEFAULTS = together(new Environment(), new SimulatorVariables());
const NAMES = Object.keys(DEFAULTS);
const DIGEST = 'a'.repeat(64);

function together(environment: Environment, simulator: SimulatorVariables): Variables {
  return Object.fromEntries([...Object.entries(environment), ...Object.entries(simulator)]);
}

/** All variables of `npm start`: the service's, then the simulator's. */
function read(variables: Variables): Variables {
  const [environment, simulator] = readTogether<[Environment, SimulatorVariables]>(
    variables,
    readEnvironment,
    readSimulatorVariables,
  );
  return together(environment, simulator);
}

/** The lines an operator would read; none when the variables can be used. */
function faultsOf(variables: Variables): readonly string[] {
  try {
    read(variables);
    return [];
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    return error.message.split('\n');
  }
}

function readFile(name: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), 'utf8');
}

/** A default as an operator would write it. */
function toText(value: unknown): string {
  // Null is "something else decides", an empty object "none".
  if (Array.isArray(value)) return value.join();
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

const WHOLE_NUMBERS = NAMES.filter((name) => typeof DEFAULTS[name] === 'number' && name !== 'SIMULATOR_SPEED');

describe('a variable that cannot be used', () => {
  const BAD_NUMBERS = ['x', '1.5', '-1', '1e3', '0x10', 'Infinity', 'NaN', '99999999999999999999', ' ', '1 2', '٣'];

  it.each(WHOLE_NUMBERS)('%s: every bad number gives one line that names it', (name) => {
    for (const value of BAD_NUMBERS) {
      const faults = faultsOf({ [name]: value });
      expect(faults).toEqual([expect.stringMatching(new RegExp(`^${name}: (?:expected|must be) .+\\.$`))]);
    }
  });

  it.each([
    ['PORT', '65536'],
    ['PORT', null],
    ['PORT', {}],
    ['HOST', 8080],
    ['API_KEYS', 'key'],
    ['API_KEYS', 'tenant:'],
    ['API_KEYS', ':key'],
    ['API_KEYS', 'tenant:sha256:abc'],
    ['API_KEYS', `tenant:sha256:${DIGEST}0`],
    ['API_KEYS', `alpha:key,beta:key`],
    ['API_KEYS', `tenant:key,tenant:key`],
    ['API_KEYS', 'tenant:a key that no header can hold'],
    ['API_KEYS', 'tenant:schlüssel'],
    ['API_KEYS', 5],
    ['ALLOW_OPEN', 'yes'],
    ['ALLOW_OPEN', '2'],
    ['CORS_ORIGINS', 5],
    ['CORS_ORIGINS', 'app.example.com'],
    ['CORS_ORIGINS', 'https://app.example.com/page'],
    ['LOG_LEVEL', 'loud'],
    ['LOG_LEVEL', 'LOG'],
    ['LOG_FORMAT', 'xml'],
    ['UNKNOWN_PARAMETERS', 'drop'],
    ['EVENT_NAMES', 'both'],
    ['STATE', 'no backend!'],
    ['STATE', 'SQLite'],
    ['BODY_LIMIT_BYTES', '1023'],
    ['REQUEST_TIMEOUT_MS', '999'],
    ['REQUEST_TIMEOUT_MS', '2147483648'],
    ['MEMORY_MAX_RESPONSES', '0'],
    ['SIMULATOR_SEED', '4294967296'],
    ['SIMULATOR_ANY_MODEL', 'maybe'],
    ['SIMULATOR_LATENCY', 'fast'],
    ['SIMULATOR_LATENCY', '300'],
    ['SIMULATOR_LATENCY', '300/20/0.3/1'],
    ['SIMULATOR_LATENCY', '-1/20'],
    ['SIMULATOR_BACKGROUND_LATENCY', 'slow'],
    ['SIMULATOR_SPEED', '0'],
    ['SIMULATOR_SPEED', '-1'],
    ['SIMULATOR_SPEED', 'x'],
    ['SIMULATOR_SPEED', 'Infinity'],
    ['SIMULATOR_SPEED', '1e3'],
    ['SIMULATOR_GENERATOR', 'poem'],
    ['SIMULATOR_FAULTS', 'rate_limit'],
    ['SIMULATOR_FAULTS', 'rate_limit=x'],
    ['SIMULATOR_FAULTS', 'rate_limit=1.1'],
    ['SIMULATOR_FAULTS', 'rate_limit=-0.1'],
    ['SIMULATOR_FAULTS', 'rate_limit=0.6,stall=0.6'],
    ['SIMULATOR_FAULTS', 'rate_limit=0.1,rate_limit=0.1'],
    ['SIMULATOR_FAULTS', 'fire=0.1'],
    ['SIMULATOR_FAULTS', 5],
    ['SIMULATOR_FAULTS', { fire: 0.1 }],
    ['SIMULATOR_FAULTS', { stall: '0.1' }],
    ['SIMULATOR_FAULTS', ['stall']],
    ['SIMULATOR_CONTROL', 'x'],
    ['SIMULATOR_STATS', 'x'],
    ['PORT', 'two\nlines'],
    ['LOG_LEVEL', 'two\r\nlines'],
  ])('%s=%p gives one line that names it', (name, value) => {
    expect(faultsOf({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name}: [^\\r]+\\.$`))]);
  });

  it('several variables that cannot be used have a line each', () => {
    const faults = faultsOf({ PORT: 'x', LOG_LEVEL: 'x', SIMULATOR_SEED: 'x', RESPONSE_TTL: '0', ALLOW_OPEN: 'x' });
    const named = faults.map((line) => line.split(':')[0]);
    expect(named.sort()).toEqual(['ALLOW_OPEN', 'LOG_LEVEL', 'PORT', 'RESPONSE_TTL', 'SIMULATOR_SEED']);
  });

  it('the error about a variable never shows a key', () => {
    for (const API_KEYS of ['secret-1', 'a:sha256:secret-1', 'a:secret-1,b:secret-1', 'a:secret-1,secret-1']) {
      const faults = faultsOf({ API_KEYS });
      expect(faults).toHaveLength(1);
      expect(faults.join()).not.toContain('secret-1');
    }
  });

  it('the error about a variable never shows the password of the database', () => {
    for (const url of ['mysql://user:secret-1@localhost/state', 'user:secret-1@localhost', 'secret-1']) {
      const faults = faultsOf({ STATE: 'postgres', DATABASE_URL: url, DATABASE_DIRECT_URL: url });
      expect(faults.length).toBeGreaterThan(0);
      expect(faults.join()).not.toContain('secret-1');
    }
  });
});

describe('variables that do not go together', () => {
  it.each([
    [{ HOST: '0.0.0.0' }, /^HOST: '0\.0\.0\.0' is public.*API_KEYS.*ALLOW_OPEN/],
    [{ HOST: '::' }, /^HOST: /],
    [{ HOST: 'example.com', ALLOW_OPEN: 'false' }, /^HOST: /],
    [{ HOST: '127.0.0.1.example.com' }, /^HOST: /],
    [{ CORS_ORIGINS: '*' }, /^CORS_ORIGINS: /],
    [{ CORS_ORIGINS: 'https://a.example.com,*', ALLOW_OPEN: 'true' }, /^CORS_ORIGINS: /],
    [{ STATE: 'postgres' }, /^DATABASE_URL: .*STATE=postgres/],
    [{ STATE: 'postgres', DATABASE_URL: 'mysql://localhost/state' }, /^DATABASE_URL: /],
    [{ DATABASE_DIRECT_URL: 'localhost' }, /^DATABASE_DIRECT_URL: /],
    [{ STATE: 'redis' }, /^REDIS_URL: it is missing/],
    [{ REDIS_URL: 'localhost:6379' }, /^REDIS_URL: it does not begin with redis:/],
    [{ REDIS_URL: 'redis://' }, /^REDIS_URL: the host is missing/],
    [{ REDIS_URL: 'redis://:secret/@host' }, /^REDIS_URL: (?!.*secret).*percent-encoded/],
    [{ REDIS_URL: 'redis://:secret%@host' }, /^REDIS_URL: the password has a % (?!.*secret)/],
    [{ REDIS_URL: 'redis://host:secret' }, /^REDIS_URL: host 1 is not host:port/],
    [{ REDIS_URL: 'redis+cluster://a,b:99999' }, /^REDIS_URL: host 2 is not host:port/],
    [{ REDIS_URL: 'redis://a,b' }, /^REDIS_URL: redis:\/\/ takes one host/],
    [{ REDIS_URL: 'redis://host/first' }, /^REDIS_URL: the database, .* is not a number/],
    [{ REDIS_URL: 'redis+cluster://host/1' }, /^REDIS_URL: a cluster has no database but 0/],
    [{ REDIS_URL: 'redis+sentinel://host' }, /^REDIS_URL: the name of the primary is missing/],
    [{ REDIS_URL: 'rediss://host?key=a' }, /^REDIS_URL: a parameter .* one of ca, /],
    [{ REDIS_URL: 'redis://host?ca=/a.pem' }, /^REDIS_URL: 'ca' is for TLS: use rediss:/],
    [{ WORKERS: '2' }, /^WORKERS: .*STATE=postgres or STATE=redis.*STATE=memory.*previous_response_id would fail/],
    [{ WORKERS: '2', STATE: 'sqlite' }, /^WORKERS: .*STATE=postgres or STATE=redis.*STATE=sqlite.*one process/],
    [{ BACKGROUND_MAX_RUNNING: '0' }, /^BACKGROUND_MAX_RUNNING: .*STATE=postgres or STATE=redis.*STATE=memory/],
    [{ BACKGROUND_MAX_RUNNING: '0', STATE: 'sqlite' }, /^BACKGROUND_MAX_RUNNING: .*STATE=sqlite/],
    [{ RESPONSE_TTL: '10', RESPONSE_TTL_MAX: '9' }, /^RESPONSE_TTL: .*RESPONSE_TTL_MAX/],
    [{ FILE_INPUT_MAX_BYTES: '10', FILE_INPUT_TOTAL_BYTES: '9' }, /^FILE_INPUT_TOTAL_BYTES: .*FILE_INPUT_MAX_BYTES/],
  ])('a configuration is refused for what its variables do not allow together: %p', (variables, line) => {
    expect(faultsOf(variables)).toEqual([expect.stringMatching(line)]);
  });

  it.each<Variables>([
    { HOST: '0.0.0.0', API_KEYS: 'tenant:key' },
    { HOST: '0.0.0.0', ALLOW_OPEN: '1' },
    { HOST: 'localhost' },
    { HOST: '::1' },
    { HOST: '127.1.2.3' },
    { CORS_ORIGINS: '*', API_KEYS: `tenant:sha256:${DIGEST}` },
    { CORS_ORIGINS: 'https://app.example.com, http://localhost:3000' },
    { API_KEYS: 'tenant:with:colons' },
    { STATE: 'postgres', DATABASE_URL: 'postgresql://user:password@localhost/state' },
    { STATE: 'postgres', DATABASE_URL: 'postgresql://user:password@localhost/state', WORKERS: '8' },
    { STATE: 'redis', REDIS_URL: 'redis://localhost', WORKERS: '8', BACKGROUND_MAX_RUNNING: '0' },
    { STATE: 'constructor', WORKERS: '8' },
    { RESPONSE_TTL: '10', RESPONSE_TTL_MAX: '10' },
  ])('the service finds no fault in the variables %p', (variables) => {
    expect(faultsOf(variables)).toEqual([]);
  });
});

describe('a variable that is not there', () => {
  it('a variable that is not there has its default, and so has an empty one', () => {
    expect(read({})).toEqual(DEFAULTS);
    expect(read(Object.fromEntries(NAMES.map((name) => [name, ''])))).toEqual(DEFAULTS);
    expect(read(Object.fromEntries(NAMES.map((name) => [name, undefined])))).toEqual(DEFAULTS);
  });

  it('a variable is not invented by names that we do not know', () => {
    const others = { PATH: '/bin', toString: 'x', constructor: 'x', port: 'x', ANTIPHON_PORT: 'x' };
    expect(read(others)).toEqual(DEFAULTS);
  });

  it('a variable may be written out with its default', () => {
    const written = Object.fromEntries(NAMES.map((name) => [name, toText(DEFAULTS[name])]));
    expect(read(written)).toEqual(DEFAULTS);
  });
});

describe('a variable that is there', () => {
  it('a variable is read as what it is, blanks around it aside', () => {
    const variables = { PORT: ' 0 ', ALLOW_OPEN: ' TRUE ', API_KEYS: ' a:b , ,c:d,', LOG_LEVEL: 'debug', HOST: '::1' };
    expect(read(variables)).toMatchObject({
      PORT: 0,
      ALLOW_OPEN: true,
      API_KEYS: ['a:b', 'c:d'],
      LOG_LEVEL: 'debug',
      HOST: '::1',
    });
  });

  it('a variable may come in its own type from a program that embeds the service', () => {
    const given = { PORT: 0, ALLOW_OPEN: true, SIMULATOR_SPEED: 2, SIMULATOR_FAULTS: { stall: 0.5 } };
    expect(read(given)).toMatchObject(given);
  });
});

describe('the list of all variables', () => {
  /** What .env.example recommends in place of a default. */
  const RECOMMENDED = { STATE: 'sqlite', MAX_TURN_MS: '14400000' };
  const expected = Object.fromEntries(NAMES.map((name) => [name, toText(DEFAULTS[name])]));

  it('every variable is in .env.example, with a comment and its default or what is recommended', () => {
    const lines = readFile('.env.example').split('\n');
    const found = lines.flatMap((line, index) => {
      const [, name, value] = /^(?:# ?)?([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
      if (name === undefined || value === undefined) return [];
      expect(lines[index - 1]).toMatch(/^# \S/);
      return [[name, value] as const];
    });
    expect(found.map(([name]) => name)).toEqual(NAMES);
    expect(Object.fromEntries(found)).toEqual({ ...expected, ...RECOMMENDED });
  });

  it('every variable is in docs/configuration.md, with its default', () => {
    const rows = readFile('docs/configuration.md').matchAll(/^\| `([A-Z][A-Z0-9_]*)` \| (?:`([^`|]*)`)?/gm);
    const found = [...rows].map(([, name, value = '']) => [name, value] as const);
    expect(found.map(([name]) => name)).toEqual(NAMES);
    expect(Object.fromEntries(found)).toEqual(expected);
  });
});
