import { readFileSync } from 'node:fs';

/** `swc.json` is also how test/runner/typescript.ts has Node read TypeScript. */
const swc = JSON.parse(readFileSync(new URL('test/runner/swc.json', import.meta.url), 'utf8'));

/** What mostly waits: for processes, browsers, databases and outages, or for its own upstreams. The other files compute for most of their time. */
const WAITING =
  '/test/(clients|cluster|console|conversations|docs|files|llama|mcp|process|routing|runner|shipping|state|steering|support|vector-stores)/|/test/load/bench|outage';

const base = {
  // How jest finds what a changed file is imported by, for `--watch` and `--onlyChanged`.
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Examples import the package as users do.
    '^antiphon$': '<rootDir>/src/index.ts',
    '^antiphon/testing$': '<rootDir>/src/testing/index.ts',
  },
  // Jest looks at each file below them before it runs any, once for each project: with node_modules and the builds these are a hundred thousand.
  roots: ['bench', 'console', 'examples', 'scripts', 'src', 'test'].map((folder) => `<rootDir>/${folder}`),
  modulePathIgnorePatterns: ['<rootDir>/examples/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  // The same for all projects, so that jest runs their files together.
  runner: ['<rootDir>/test/runner/slots.ts', { waiting: WAITING, waitingSlots: 5 }],
};

/** Node imports the modules, once for all files of a worker: docs/decisions/2026-11-25-shared-modules-in-tests.md. */
export const shared = {
  ...base,
  runtime: '<rootDir>/test/runner/runtime.ts',
  testEnvironment: '<rootDir>/test/runner/environment.ts',
  // Files leave their modules behind. A worker whose heap is larger runs no further file.
  testEnvironmentOptions: { heapMegabytes: 1024 },
  injectGlobals: false,
  transform: {},
};

/** With one PostgreSQL server and one Redis for all of them. */
const withServers = {
  ...shared,
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

/** Jest imports everything again for it: it is of a module that is imported for the first time. */
const ISOLATED = ['<rootDir>/src/providers/tokens/tokenizer.spec.ts'];

const isolated = {
  ...base,
  displayName: 'isolated',
  testMatch: ISOLATED,
  testEnvironment: 'node',
  transform: { '^.+\\.ts$': ['@swc/jest', { ...swc, sourceMaps: 'inline' }] },
};

export default {
  // Ends what hangs. The longest test takes a minute, and several on a busy machine, which is not a failure.
  testTimeout: 600_000,
  maxWorkers: 2,
  // A worker with nothing open still takes its heap apart, on a busy machine for longer than the usual half second. What a test leaves open fails it by name.
  workerGracefulExitTimeout: 60_000,
  testSequencer: '<rootDir>/test/runner/sequencer.ts',
  reporters: ['default', '<rootDir>/test/runner/slowest-files.ts'],
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: ['<rootDir>/src/**/*.spec.ts'],
      testPathIgnorePatterns: ['/node_modules/', ...ISOLATED],
    },
    isolated,
    {
      ...withServers,
      displayName: 'e2e',
      testMatch: [
        '<rootDir>/{test/!(claude-code|cluster|codex|load),examples}/**/*.spec.ts',
        '<rootDir>/test/*.spec.ts',
      ],
      testPathIgnorePatterns: ['/node_modules/', ...ISOLATED],
    },
    // What runs the built service as several processes, and databases that crash.
    { ...withServers, displayName: 'cluster', testMatch: ['<rootDir>/test/cluster/**/*.spec.ts'] },
    // What presses: many streams, names and readers, large floods, the benchmark.
    { ...withServers, displayName: 'load', testMatch: ['<rootDir>/test/load/**/*.spec.ts'] },
  ],
};
