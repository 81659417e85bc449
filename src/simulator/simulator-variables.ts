import {
  Choice,
  Factor,
  Flag,
  Rates,
  readVariables,
  Shape,
  Text,
  TextList,
  type VariableCheck,
  type Variables,
  WholeNumber,
} from '../config/index.js';
import { FAULT_KINDS, type FaultRates, type GeneratorName, GENERATORS } from './names.js';
import { LENGTH, LENGTH_FORMS, parseLength } from './length.js';

/** The form of a latency, and its description. */
const LATENCY = [
  /^(?:instant|realistic|\d{1,9}(?:\.\d{1,9})?(?:\/\d{1,9}(?:\.\d{1,9})?){1,2})$/,
  'instant, realistic, or first/between in ms such as 300/20',
] as const;

/** The variables of the simulator, with their types and defaults. `npm run docs` copies the comments, as for Environment. */
export class SimulatorVariables {
  // Section: Simulator

  /** Seed of the simulator. The same seed and request give the same answer. */
  @WholeNumber(0, 0xff_ff_ff_ff)
  readonly SIMULATOR_SEED: number = 1;

  /** Whether the simulator answers for every model name. Empty: only if there is no other provider. */
  @Flag({ open: true })
  readonly SIMULATOR_ANY_MODEL: boolean | null = null;

  /**
   * Latency of simulated models: `instant`, `realistic` (by model), or medians in ms as `first/between[/spread]`, such
   * as `300/20`. Spread 0 always uses the median.
   */
  @Shape(...LATENCY)
  readonly SIMULATOR_LATENCY: string = 'instant';

  /**
   * Latency of background turns, in place of SIMULATOR_LATENCY: by default they are `in_progress` for a moment, so that
   * clients can be tested against it. The same values; `instant` turns it off.
   */
  @Shape(...LATENCY)
  readonly SIMULATOR_BACKGROUND_LATENCY: string = '500/20';

  /** Speed factor for both latencies; 2 halves every pause. */
  @Factor()
  readonly SIMULATOR_SPEED: number = 1;

  /**
   * How text is generated: random English, lorem ipsum, an echo of the last user message, or the fixed text or sequence
   * in SIMULATOR_TEXT.
   */
  @Choice(...GENERATORS)
  readonly SIMULATOR_GENERATOR: GeneratorName = 'random';

  /** Text for `fixed`. For `sequence`, the parts between `|`, one per request. */
  @Text()
  readonly SIMULATOR_TEXT: string = '';

  /**
   * Tokens of the texts of `random` and `lorem`: a number, a range such as `200-800` in which all are equally likely,
   * `median/spread` such as `500/0.5` for a log-normal distribution, or `request`: as `max_output_tokens` and
   * `text.verbosity` of the request say. Empty: a few sentences, by `text.verbosity`.
   */
  @Shape(LENGTH, LENGTH_FORMS)
  readonly SIMULATOR_TARGET_TOKENS: string = '';

  /**
   * Rounds of tool calls before the simulator answers a question, where `tool_choice` is `auto`. 0: it never calls
   * tools on its own.
   */
  @WholeNumber(0)
  readonly SIMULATOR_TOOL_ROUNDS: number = 1;

  /**
   * Whether `cached_tokens` counts what a prompt has in common with the beginning of an earlier one of the process, as at OpenAI:
   * from 1,024 tokens on, in steps of 128, by tenant, model and `prompt_cache_key`. `false`: always 0.
   */
  @Flag()
  readonly SIMULATOR_PROMPT_CACHE: boolean = true;

  /** Scripts for simulated models (.json, .yaml, .jsonl), comma-separated. Each is a model of its own. */
  @TextList()
  readonly SIMULATOR_SCRIPTS: readonly string[] = [];

  /**
   * What becomes of a request that no turn of its script or recording matches: `error` refuses it with 400 `script_exhausted`,
   * `generate` answers it as without a script.
   */
  @Choice('error', 'generate')
  readonly SIMULATOR_UNMATCHED: 'error' | 'generate' = 'error';

  /** Faults and their share of the turns, such as `rate_limit=0.1,stall=0.01`. */
  @Rates(...FAULT_KINDS)
  readonly SIMULATOR_FAULTS: FaultRates = {};

  /**
   * Lets requests control the simulator with the header `x-simulate`, keeps a journal of what each space was asked, and opens the routes of
   * `/simulator` for both, unless NODE_ENV is `production`.
   */
  @Flag()
  readonly SIMULATOR_CONTROL: boolean = false;

  /** Whether `GET /simulator/stats` is available. Empty: unless NODE_ENV is `production`. */
  @Flag({ open: true })
  readonly SIMULATOR_STATS: boolean | null = null;

  /** `production` turns off `GET /simulator/stats`, and the routes that SIMULATOR_CONTROL opens. */
  @Text()
  readonly NODE_ENV: string = '';
}

const CHECKS: readonly VariableCheck<SimulatorVariables>[] = [
  [
    ['SIMULATOR_TARGET_TOKENS'],
    ({ SIMULATOR_TARGET_TOKENS: length }) =>
      length === '' || parseLength(length) !== undefined
        ? undefined
        : `SIMULATOR_TARGET_TOKENS: the range ${length} ends before it begins.`,
  ],
  [
    ['SIMULATOR_GENERATOR', 'SIMULATOR_TEXT'],
    ({ SIMULATOR_GENERATOR: generator, SIMULATOR_TEXT: text }) => {
      if (text !== '' || (generator !== 'fixed' && generator !== 'sequence')) return undefined;
      return `SIMULATOR_TEXT: has to be set for SIMULATOR_GENERATOR=${generator}.`;
    },
  ],
];

/** Reads and checks the simulator's variables. Throws EnvironmentError with every violation at once. */
export function readSimulatorVariables(variables: Variables): SimulatorVariables {
  return readVariables(SimulatorVariables, variables, CHECKS);
}

/**
 * Variables of a service that is only there for tests: it stores nothing, refuses what OpenAI refuses, can be controlled, makes nobody wait,
 * and logs only what is wrong.
 */
export const FOR_TESTS = {
  STATE: 'memory',
  LOG_LEVEL: 'error',
  DRAIN_TIMEOUT_MS: 0,
  UNKNOWN_PARAMETERS: 'reject',
  SIMULATOR_CONTROL: true,
  SIMULATOR_BACKGROUND_LATENCY: 'instant',
} as const satisfies Variables;

/** Whether clients may read the journal and change what the simulator answers. */
export function isControlOpen({ SIMULATOR_CONTROL, NODE_ENV }: SimulatorVariables): boolean {
  return SIMULATOR_CONTROL && NODE_ENV !== 'production';
}

/** The latency of the simulator in one line, so that nobody takes numbers of `instant` for those of a model. */
export function describeLatency(variables: SimulatorVariables): string {
  const { SIMULATOR_LATENCY: latency, SIMULATOR_BACKGROUND_LATENCY: background, SIMULATOR_SPEED: speed } = variables;
  const hint = latency === 'instant' ? ' (no waiting: measures the service, not a model)' : '';
  return `${latency}${hint}; background turns: ${background}${speed === 1 ? '' : `; speed: ${speed}`}`;
}

const INTRODUCTION =
  'Hello! I am the simulator of Antiphon: this answer is made up, and no model was asked. To connect real models, list their servers ' +
  'in a file and name it with --providers (PROVIDERS_FILE); docs/providers.md shows how. I say this once. From now on my answers are ' +
  'random text; SIMULATOR_GENERATOR chooses another kind, and any setting of the simulator leaves this introduction out.';

/** The first answer of a program that was started without a setting of the simulator; null where there is one: tests count on their seed. */
export function introductionFor(variables: Variables): string | null {
  const isSet = Object.entries(variables).some(
    ([name, value]) => name.startsWith('SIMULATOR_') && (value ?? '') !== '',
  );
  return isSet ? null : INTRODUCTION;
}
