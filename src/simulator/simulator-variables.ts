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

/** The variables of the simulator, with their types and defaults: `.env.example` and the README list the same. */
export class SimulatorVariables {
  /** Seed of the simulator: the same seed and request give the same answer. */
  @WholeNumber(0, 0xff_ff_ff_ff)
  readonly SIMULATOR_SEED: number = 1;

  /** Whether the simulator answers under any model name. Empty: as long as no other provider is there. */
  @Flag({ open: true })
  readonly SIMULATOR_ANY_MODEL: boolean | null = null;

  /** How long simulated models take: `instant`, `realistic`, or medians in ms as `first/between[/spread]`, `300/20`. */
  @Shape(
    /^(?:instant|realistic|\d{1,9}(?:\.\d{1,9})?(?:\/\d{1,9}(?:\.\d{1,9})?){1,2})$/,
    'instant, realistic, or first/between in ms such as 300/20',
  )
  readonly SIMULATOR_LATENCY: string = 'instant';

  /** How much faster than that they are: 2 halves every pause. */
  @Factor()
  readonly SIMULATOR_SPEED: number = 1;

  /** How simulated texts are made up. */
  @Choice(...GENERATORS)
  readonly SIMULATOR_GENERATOR: GeneratorName = 'random';

  /** What `fixed` says; `sequence` says the parts between `|`, one with each request. */
  @Text()
  readonly SIMULATOR_TEXT: string = '';

  /** Rounds of tool calls that follow a question before the simulator answers it, where it may choose. */
  @WholeNumber(0)
  readonly SIMULATOR_TOOL_ROUNDS: number = 1;

  /** Scripts that simulated models follow (JSON, YAML, JSON Lines), comma-separated; each is a model of its own. */
  @TextList()
  readonly SIMULATOR_SCRIPTS: readonly string[] = [];

  /** What goes wrong with simulated models, and in which share of the turns: `rate_limit=0.1,stall=0.01`. */
  @Rates(...FAULT_KINDS)
  readonly SIMULATOR_FAULTS: FaultRates = {};

  /** Lets requests control the simulator with the header `x-simulate`. */
  @Flag()
  readonly SIMULATOR_CONTROL: boolean = false;

  /** Whether `GET /simulator/stats` is there. Empty: unless NODE_ENV is production. */
  @Flag({ open: true })
  readonly SIMULATOR_STATS: boolean | null = null;

  /** `production` leaves out `GET /simulator/stats`. */
  @Text()
  readonly NODE_ENV: string = '';
}

const CHECKS: readonly VariableCheck<SimulatorVariables>[] = [
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
