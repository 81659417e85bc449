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
import { FAULT_KINDS, type FaultRates } from './fault-kinds.js';
import { GENERATORS, type GeneratorName } from './generators.js';

/** Environment variables of the simulator. Keep `.env.example` and the README in sync. */
export class SimulatorVariables {
  /** Seed of the simulator. Answers are deterministic for a seed and a request. */
  @WholeNumber(0, 0xff_ff_ff_ff)
  readonly SIMULATOR_SEED: number = 1;

  /** Whether the simulator serves any model name. Empty: if there is no other provider. */
  @Flag({ open: true })
  readonly SIMULATOR_ANY_MODEL: boolean | null = null;

  /** Latency of simulated models: `instant`, `realistic`, or medians in ms as `first/between[/spread]`, such as `300/20`. */
  @Shape(
    /^(?:instant|realistic|\d{1,9}(?:\.\d{1,9})?(?:\/\d{1,9}(?:\.\d{1,9})?){1,2})$/,
    'instant, realistic, or first/between in ms such as 300/20',
  )
  readonly SIMULATOR_LATENCY: string = 'instant';

  /** Speed factor: 2 halves all pauses. */
  @Factor()
  readonly SIMULATOR_SPEED: number = 1;

  /** Generator of simulated texts. */
  @Choice(...GENERATORS)
  readonly SIMULATOR_GENERATOR: GeneratorName = 'random';

  /** The text of `fixed`; the texts of `sequence`, separated by `|`, one per request. */
  @Text()
  readonly SIMULATOR_TEXT: string = '';

  /** Rounds of tool calls after a user message before the answer is text, with `tool_choice: "auto"`. */
  @WholeNumber(0)
  readonly SIMULATOR_TOOL_ROUNDS: number = 1;

  /** Script files (JSON, YAML, JSON Lines), comma-separated; each defines a model. */
  @TextList()
  readonly SIMULATOR_SCRIPTS: readonly string[] = [];

  /** Simulated faults with their probability per turn: `rate_limit=0.1,stall=0.01`. */
  @Rates(...FAULT_KINDS)
  readonly SIMULATOR_FAULTS: FaultRates = {};

  /** Whether requests can control the simulator with the header `x-simulate`. */
  @Flag()
  readonly SIMULATOR_CONTROL: boolean = false;

  /** Whether to serve `GET /simulator/stats`. Empty: unless NODE_ENV is production. */
  @Flag({ open: true })
  readonly SIMULATOR_STATS: boolean | null = null;

  /** `production` disables `GET /simulator/stats` by default. */
  @Text()
  readonly NODE_ENV: string = '';
}

const CHECKS: readonly VariableCheck<SimulatorVariables>[] = [
  [
    ['SIMULATOR_GENERATOR', 'SIMULATOR_TEXT'],
    ({ SIMULATOR_GENERATOR: generator, SIMULATOR_TEXT: text }) => {
      if (text !== '' || (generator !== 'fixed' && generator !== 'sequence')) return undefined;
      return `SIMULATOR_TEXT: must be set for SIMULATOR_GENERATOR=${generator}.`;
    },
  ],
];

/** Reads and checks the simulator's variables. Throws EnvironmentError with every violation at once. */
export function readSimulatorVariables(variables: Variables): SimulatorVariables {
  return readVariables(SimulatorVariables, variables, CHECKS);
}
