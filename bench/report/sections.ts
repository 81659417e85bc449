/** Cases that docs/benchmark.md shows in one table. */
export interface Section {
  readonly title: string;
  /** What a reader has to know: which service is measured, and against which floor. */
  readonly words: string;
  readonly cases: readonly SectionCase[];
}

/** A case of a section. */
export interface SectionCase {
  readonly name: string;
  /** What is shown beside the figures that have goals. */
  readonly figures?: readonly string[];
}

/** All cases, in the order of docs/benchmark.md. */
export const SECTIONS: readonly Section[] = [
  {
    title: 'Streams',
    words:
      'The service with a model that costs nothing (`simulator`: with the built-in simulator), storing every response. The floor is bare ' +
      '`node:http` or bare `ws`. It builds and serialises the same event objects and sends the output of one turn of the event loop in ' +
      'one write; it does not validate, store or await. The honest floor adds all the work of a turn, written by hand: compiled ' +
      'validation, the check of the context, three snapshots with all settings and tools, and a store bounded by count, bytes and age. ' +
      '*single* is one delta per turn of the event loop, *burst* eight; a *short turn* has eight in all. *Precomputed* is a floor that ' +
      'writes prepared bytes.',
    cases: [
      { name: 'sse', figures: ['events per second'] },
      { name: 'ws', figures: ['events per second'] },
      { name: 'simulator', figures: ['server CPU per event, µs', 'events per second'] },
    ],
  },
  {
    title: 'Requests',
    words:
      'Small JSON answers, compared with bare `node:http` that parses and serialises the same JSON, and with a minimal Nest application ' +
      'on Fastify whose `ValidationPipe` validates the same body. The honest floor is that of the streams. `validation` is a request of ' +
      '500 items; its floor is `JSON.parse` of the same body.',
    cases: [{ name: 'json' }, { name: 'validation' }],
  },
  {
    title: 'Counting tokens',
    words:
      '`POST /responses/input_tokens` with a context of 1 MB in 1,000 messages, counted by the service as it is built for a model of its ' +
      'simulator. The floor is bare `node:http` that parses the same body and counts the same texts with the same tokenizer at one go. The ' +
      'longest wait is that of a `GET /healthz` that is sent again and again meanwhile.',
    cases: [{ name: 'token-count', figures: ['time of a count, ms'] }],
  },
  {
    title: 'The cost of a turn',
    words:
      'Promises created and bytes allocated on the heap in one short turn of eight deltas, stored, without a parent. Turns run one after ' +
      'the other. These are counts, so they hardly depend on the machine. The floors are those of streams and requests; they create no ' +
      'promises.',
    cases: [{ name: 'turn-cost', figures: ['kB allocated per turn'] }],
  },
  {
    title: 'Conversations',
    words:
      'In `agent-loop` eight agents make twenty tool turns each. Over one WebSocket per agent, the service receives only the new items. ' +
      'The floor is the same service over HTTP, with `previous_response_id` or the full history in each turn. `upstream-loop` is the ' +
      'same loop before an upstream with the Responses API: what the service sends there, over a WebSocket and, as the floor, over ' +
      'HTTP. In `chains` the floor is ' +
      'the fifth turn of the same conversation on the same transport. In `conversations` a turn names a stored conversation; the floor is ' +
      'a turn that continues a response with as many items or, for 10 000 items on a warm socket, a turn in a conversation of ten. In `saves` it is the same ' +
      'turn with the backend after ÷ or, for the saves alone, one prepared statement that inserts the same rows. CPU is that of the service: ' +
      'databases are not included. PostgreSQL and Redis do not wait for the disk here; SQLite does.',
    cases: [
      { name: 'agent-loop' },
      { name: 'upstream-loop', figures: ['server CPU per turn, µs'] },
      { name: 'chains', figures: ['server CPU per turn, µs', 'database round trips per turn'] },
      { name: 'conversations', figures: ['server CPU per turn, µs'] },
      { name: 'saves', figures: ['saves per second', 'server CPU per turn, µs', 'latency of a turn, ms'] },
    ],
  },
  {
    title: 'Background turns',
    words:
      'Turns with `background: true`: they wait in a queue, and write to a log that all readers read, their creators too. The floor is ' +
      'the same turn in the foreground on the same service, with the same model that costs nothing. *Flat out* are streams as fast as ' +
      'possible, *paced* ones have a delta every 10 ms. *Replay ÷ live* is a long stream after its end, compared with the same while it ' +
      'runs; *50 readers ÷ 1* is one paced stream. The CPU of databases is not included.',
    cases: [
      {
        name: 'background',
        figures: [
          'time to response.created, p50, ms',
          'time to response.in_progress, p50, ms',
          'turns per second',
          'server CPU per event, µs',
          'events per second',
          'time to the end, ms',
        ],
      },
    ],
  },
  {
    title: 'In front of an upstream',
    words:
      'The service as it is built, in front of a Chat Completions server (`relay`), and of a server with the Responses API over SSE and ' +
      'over WebSocket (`responses-relay`). The floor is a bare relay: `node:http`, a keep-alive agent or open sockets of bare `ws`, every ' +
      'chunk parsed, every event built and serialised, one write per read. *service − direct* is the time that the service adds to ' +
      'a direct request in the same round. *Paced* streams arrive at the speed of a model, *flat out* as fast as possible. In `gaps` a ' +
      'model writes every 20 ms; the figures are the added time between two deltas, and the largest number of streams without a delta ' +
      'that is late by a second.',
    cases: [
      { name: 'relay', figures: ['delay of a delta, p50, ms', 'server CPU per delta, µs'] },
      { name: 'responses-relay', figures: ['delay of a delta, p50, ms', 'server CPU per delta, µs'] },
      { name: 'gaps', figures: ['added gap between deltas, p99, ms', 'most streams without a lost event'] },
    ],
  },
  {
    title: 'Requests of 50 words',
    words:
      'JSON answers of 50 words, all at once. `simulator-json` is the service as it is built, with its instant simulator; the floor is the same service with a ' +
      'model that costs nothing, and *service − floor* is what the simulator adds. In `gateway-json` the service stands before a Chat ' +
      'Completions server; the floor is a bare relay that asks the same server without streaming, and neither validates nor stores.',
    cases: [
      { name: 'simulator-json', figures: ['requests per second'] },
      { name: 'gateway-json', figures: ['requests per second'] },
    ],
  },
  {
    title: 'Deltas at the pace of a model',
    words:
      'Streams with a delta every 10 ms from a Chat Completions server, through the service as it is built and through the bare relay. ' +
      '*service − floor* is what the service adds to the time of the relay. In `workers` two workers stand beside one, in place of the floor, both ' +
      'with PostgreSQL; the upstream, the load generator and the database use the same cores.',
    cases: [
      { name: 'paced' },
      {
        name: 'workers',
        figures: ['deltas per second', 'time to first delta, p50, ms', 'time to first delta, p99, ms'],
      },
    ],
  },
  {
    title: 'Operation',
    words:
      'What an operator adds to a turn: metrics, limits and usage records (*on*), and traces of one turn in a hundred, sent to a collector. ' +
      'The floor is the same service without them. State and limits are in memory, and the model costs nothing, so that what is added weighs most. ' +
      '*Shared limits* are those of replicas, in PostgreSQL.',
    cases: [{ name: 'operations', figures: ['server CPU per turn, µs', 'database round trips per turn'] }],
  },
  {
    title: 'Hostile requests',
    words:
      'How long the event loop stands still while one request is received, checked, answered or refused: the longest wait of a ' +
      '`GET /healthz` that is sent again and again meanwhile. Every request is one that a client may send, of at most 16 MiB. The floor is bare ' +
      '`node:http` that only parses the body; it accepts what the service refuses.',
    cases: [{ name: 'hostile' }],
  },
  {
    title: 'Memory after load',
    words:
      'Resident memory of the service as it is built and of its child processes, right after JSON turns with its simulator, stored in ' +
      'SQLite, and after a rest. The floor is bare `node:http` with a bounded store in memory.',
    cases: [{ name: 'memory' }],
  },
  {
    title: 'The process',
    words:
      '`cold-start` and `idle-sockets` are compared with an empty Nest application on Fastify and `ws`, and with bare `ws`. In `soak` the ' +
      'floor is the first half of the same run.',
    cases: [{ name: 'cold-start' }, { name: 'idle-sockets' }, { name: 'soak' }],
  },
];
