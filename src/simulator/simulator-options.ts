import type { Environment } from '../config/index.js';
import type { GeneratorName } from './answer/write-text.js';
import type { FaultRates } from './faults.js';
import { type LatencySetting, parseLatency } from './latency.js';

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

  /** What the environment says, and the rest. */
  static from(environment: Environment, others: Partial<SimulatorOptions> = {}): SimulatorOptions {
    return new SimulatorOptions({
      ...others,
      seed: environment.SIMULATOR_SEED,
      anyModel: environment.SIMULATOR_ANY_MODEL,
      latency: parseLatency(environment.SIMULATOR_LATENCY) ?? 'instant',
      speed: environment.SIMULATOR_SPEED,
      generator: environment.SIMULATOR_GENERATOR,
      text: environment.SIMULATOR_TEXT,
      toolRounds: environment.SIMULATOR_TOOL_ROUNDS,
      scripts: environment.SIMULATOR_SCRIPTS,
      faults: environment.SIMULATOR_FAULTS,
      control: environment.SIMULATOR_CONTROL,
    });
  }
}
