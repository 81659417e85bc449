/** A table of cases in the README. */
export interface Section {
  readonly title: string;
  /** Explains the service and the floor. */
  readonly words: string;
  readonly cases: readonly SectionCase[];
}

/** A case of a section. */
export interface SectionCase {
  readonly name: string;
  /** Figures to show besides those with goals. */
  readonly figures?: readonly string[];
}

/** All cases, in the order of the README. */
export const SECTIONS: readonly Section[] = [
  {
    title: 'Streams',
    words:
      'The service with a model that costs nothing (`simulator`: as it is built, with its own), storing every response. The floor is ' +
      'bare `node:http`, or bare `ws`: it builds and serialises the same event objects, and sends what one turn of the event loop ' +
      'gave in one write; it checks, keeps and awaits nothing. The honest floor does all the work of a turn on top of that, by hand: ' +
      'the compiled rules of requests, the check of the conversation, every setting in three snapshots with the tools, and a store ' +
      'bounded by count, bytes and age. *single* is one delta per turn of the loop, *burst* eight; a *short turn* has eight in all. ' +
      'Precomputed is a floor that writes bytes which were ready before, for the record.',
    cases: [
      { name: 'sse', figures: ['events per second'] },
      { name: 'ws', figures: ['events per second'] },
      { name: 'simulator', figures: ['server CPU per event, µs', 'events per second'] },
    ],
  },
  {
    title: 'Requests',
    words:
      'Small answers in JSON, beside bare `node:http` that parses and serialises the same JSON, and beside a minimal Nest application ' +
      'on Fastify whose `ValidationPipe` checks the same body. The honest floor is that of the streams. `validation` is a request of 500 items; its floor is `JSON.parse` of ' +
      'the same body.',
    cases: [{ name: 'json' }, { name: 'validation' }],
  },
  {
    title: 'The cost of a turn',
    words:
      'What the server makes in one short turn of eight deltas, stored, without a parent, one turn after the other: promises, and ' +
      'bytes allocated on the heap. These are counts, so the machine hardly matters. The floors are those of streams and requests; ' +
      'they make no promises.',
    cases: [{ name: 'turn-cost', figures: ['kB allocated per turn'] }],
  },
  {
    title: 'Conversations',
    words:
      'In `agent-loop` eight agents make twenty tool turns each: the service is asked over one WebSocket per agent with what is new, ' +
      'the floor is the same service over HTTP, `previous_response_id` or the full history with each turn. In `chains` the floor ' +
      'is the fifth turn of the same conversation on the same road. In `saves` it is one prepared statement that inserts the same rows.',
    cases: [
      { name: 'agent-loop' },
      { name: 'chains', figures: ['server CPU per turn, µs', 'database round trips per turn'] },
      { name: 'saves', figures: ['saves per second'] },
    ],
  },
  {
    title: 'In front of an upstream',
    words:
      'The service as it is built, before a server of chat completions. The floor is a bare relay: `node:http`, a keep-alive agent, ' +
      'every chunk parsed, every event built and serialised, one write for what one read brought. *service − direct* is what the ' +
      'service adds to asking that server itself in the same round. *Paced* streams come as a model writes; *flat out*, as fast as they can. In `gaps` a ' +
      'model writes every 20 ms: how much further apart two deltas arrive than they were written, and with how many streams none is ' +
      'late by a second.',
    cases: [
      { name: 'relay', figures: ['delay of a delta, p50, ms', 'server CPU per delta, µs'] },
      { name: 'gaps', figures: ['added gap between deltas, p99, ms', 'most streams without a lost event'] },
    ],
  },
  {
    title: 'The process',
    words:
      '`cold-start` and `idle-sockets` stand beside an empty Nest application on Fastify and `ws`, and beside bare `ws`. In `soak` the ' +
      'floor is the first half of the same run.',
    cases: [{ name: 'cold-start' }, { name: 'idle-sockets' }, { name: 'soak' }],
  },
];
