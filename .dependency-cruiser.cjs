/** Folders within folders that have an interface of their own. */
const INNER = [
  'access/(?:quotas|socket-tokens)',
  'context/seals',
  'files/(?:documents|vector-stores)',
  'http/(?:api-description|api-docs|bodies|home|outbound)',
  'operations/(?:metrics|siblings|tracing|webhooks|workers)',
  'program/command-line',
  'resources/[^/]+',
  'state/locks',
  'tools/[^/]+',
].join('|');

/** The architecture as rules: transport → use case → contracts ← adapters. */
module.exports = {
  forbidden: [
    {
      name: 'no-import-cycles',
      comment: 'In ESM a cycle between decorated classes crashes at import: the metadata reads a binding too early.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'folders-have-one-interface',
      comment: 'The index.ts of a folder is its interface, of which only the commands of the program look behind.',
      severity: 'error',
      from: { path: '^src/(?!program/)([^/]+)/' },
      to: { path: '^src/[^/]+/.+', pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$', '^src/[^/]+/[^/]+/index\\.ts$'] },
    },
    {
      name: 'inner-folders-have-one-interface',
      comment: 'So has a folder within a folder, where it has an index.ts.',
      severity: 'error',
      from: { path: `^src/(${INNER})/` },
      to: { path: `^src/(?:${INNER})/.+`, pathNot: ['^src/$1/', '/index\\.ts$'] },
    },
    {
      name: 'inner-folders-have-one-interface-for-their-neighbours',
      comment: 'The folder around it keeps to that, too.',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/(?:program|${INNER})/` },
      to: { path: `^src/(?:${INNER})/.+`, pathNot: '/index\\.ts$' },
    },
    {
      name: 'protocol-imports-nobody',
      comment: 'The wire is plain TypeScript: it knows neither Nest nor any other folder.',
      severity: 'error',
      from: { path: '^src/protocol/' },
      to: { path: ['^src/(?!protocol/)', 'node_modules/@nestjs/'] },
    },
    {
      name: 'adapters-do-not-know-the-use-case',
      comment: 'State and providers implement contracts; they never call up into responses.',
      severity: 'error',
      from: {
        path: '^src/(state|providers|context|connections|access|config|time|seams)/',
        pathNot: '^src/access/quotas/',
      },
      to: { path: '^src/(responses|resources|operations)/', pathNot: '^src/operations/siblings/' },
    },
    {
      name: 'state-does-not-know-providers',
      comment: 'A backend saves what it is given; where an answer came from is part of the protocol.',
      severity: 'error',
      from: { path: '^src/state/' },
      to: { path: '^src/(providers|context|connections|simulator)/' },
    },
    {
      name: 'the-use-case-does-not-know-its-transports',
      comment: 'ResponsesService and what it uses must run unchanged behind HTTP, SSE, WebSocket or a worker.',
      severity: 'error',
      from: { path: '^src/responses/', pathNot: '^src/responses/(http|socket)/|\\.module\\.ts$|index\\.ts$' },
      to: { path: ['^src/responses/(http|socket)/', 'node_modules/fastify/', 'node_modules/@nestjs/platform-'] },
    },
    {
      name: 'only-main-adds-the-simulator',
      comment:
        'The simulator is a provider among others: programs import its module, the rest of the service works without it.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          '^src/simulator/',
          '^src/testing/simulation/',
          '^src/program/(?:check-setup|serve)\\.ts$',
          '^src/(?:start|index)\\.ts$',
        ],
      },
      to: { path: '^src/simulator/' },
    },
    {
      name: 'the-primary-runs-nothing-of-the-service',
      comment:
        'The process that looks after workers must outlive whatever goes wrong in them: no database, no HTTP, no Nest application.',
      severity: 'error',
      from: { path: '^src/operations/workers/', pathNot: '\\.spec\\.ts$' },
      to: {
        path: ['^src/(?!operations/workers/|config/|logging/|time/)', 'node_modules/'],
        pathNot: ['node_modules/@nestjs/common/', 'node_modules/@types/node/'],
      },
    },
    {
      name: 'not-to-tests',
      comment: 'The service never needs its tests or development tools.',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.spec\\.ts$' },
      to: { path: ['^test/', '\\.spec\\.ts$'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-development-packages',
      comment:
        'What runs in production is a dependency or a peer, not only a development dependency. The build copies some into the package.',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.spec\\.ts$|^src/testing/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['npm-peer'],
        // Of `@anthropic-ai/sdk` only types are imported, which nothing that is exported has.
        pathNot: 'node_modules/(@anthropic-ai/sdk|class-transformer|class-validator|prom-client|turndown|uuid)/',
      },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types'] },
  },
};
