import type { FaultRates } from './fault-kinds.js';
import type { GeneratorName } from './generators.js';
import { type LatencySetting, parseLatency } from './latency.js';
import type { SimulatorVariables } from './simulator-variables.js';

/** How the simulator behaves. Injected by this class, so that a test or a deployment can provide its own. */
export class SimulatorOptions {
  /** The same seed and the same requests give the same answers. */
  readonly seed: number = 1;
  /** Whether it serves no names of its own beside PROVIDERS_FILE. */
  readonly isFallback: boolean = false;
  /** Whether any name is a model; null: while no other provider is there. */
  readonly anyModel: boolean | null = null;
  readonly latency: LatencySetting = 'instant';
  /** 2 halves all pauses. */
  readonly speed: number = 1;
  /** How texts are made up. */
  readonly generator: GeneratorName = 'random';
  /** What `fixed` says, and the parts of a `sequence`, between `|`. */
  readonly text: string = '';
  /** Rounds of calls that follow a question before the answer is text, where the model may choose. */
  readonly toolRounds: number = 1;
  /** Files with scripts; each is a model of its own. */
  readonly scripts: readonly string[] = [];
  readonly faults: FaultRates = {};
  /** Whether the header `x-simulate` is listened to. */
  readonly control: boolean = false;

  constructor(options: Partial<SimulatorOptions> = {}) {
    Object.assign(this, options);
  }

  /** What the variables say, and the rest. */
  static from(variables: SimulatorVariables, others: Partial<SimulatorOptions> = {}): SimulatorOptions {
    return new SimulatorOptions({
      ...others,
      seed: variables.SIMULATOR_SEED,
      anyModel: variables.SIMULATOR_ANY_MODEL,
      latency: parseLatency(variables.SIMULATOR_LATENCY) ?? 'instant',
      speed: variables.SIMULATOR_SPEED,
      generator: variables.SIMULATOR_GENERATOR,
      text: variables.SIMULATOR_TEXT,
      toolRounds: variables.SIMULATOR_TOOL_ROUNDS,
      scripts: variables.SIMULATOR_SCRIPTS,
      faults: variables.SIMULATOR_FAULTS,
      control: variables.SIMULATOR_CONTROL,
    });
  }
}
