/** Nest 12 is ESM only, so jest runs with Node's VM modules; SWC strips the types and keeps decorator metadata. */
export const base = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Examples import the package as users do.
    '^antiphon$': '<rootDir>/src/index.ts',
    '^antiphon/testing$': '<rootDir>/src/testing/index.ts',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/examples/dist/'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        sourceMaps: 'inline',
        module: { type: 'es6' },
        jsc: {
          target: 'es2024',
          keepClassNames: true,
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
        },
      },
    ],
  },
};

/** With one PostgreSQL server and one Redis for all of them. */
const withServers = {
  ...base,
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

export default {
  // Ends what hangs; a busy machine is not a failure.
  testTimeout: 120_000,
  // VM modules are never given back: a process that runs every spec grows by gigabytes and slows down. Workers are replaced.
  maxWorkers: 2,
  workerIdleMemoryLimit: '1GB',
  testSequencer: '<rootDir>/test/sequencer.js',
  projects: [
    { ...base, displayName: 'unit', testMatch: ['<rootDir>/src/**/*.spec.ts'] },
    {
      ...withServers,
      displayName: 'e2e',
      testMatch: ['<rootDir>/{test/!(cluster|codex),examples}/**/*.spec.ts', '<rootDir>/test/*.spec.ts'],
    },
    // What runs the built service as several processes, and databases that crash.
    { ...withServers, displayName: 'cluster', testMatch: ['<rootDir>/test/cluster/**/*.spec.ts'] },
  ],
};
