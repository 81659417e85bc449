import type { FaultRates, GeneratorName } from './names.js';
import { type LengthSetting, parseLength } from './length.js';
import { type LatencySetting, parseLatency } from './latency.js';
import type { SimulatorVariables } from './simulator-variables.js';

/** Options of the simulator. An injectable class, so that tests and deployments can override it. */
export class SimulatorOptions {
  /** Answers are deterministic for a seed and a request. */
  readonly seed: number = 1;
  /** Whether its own model names are served only without a PROVIDERS_FILE. */
  readonly isFallback: boolean = false;
  /** Whether to serve any model name; null: if there is no other provider. */
  readonly anyModel: boolean | null = null;
  readonly latency: LatencySetting = 'instant';
  /** Latency of background turns. */
  readonly backgroundLatency: LatencySetting = { firstTokenMs: 500, perTokenMs: 20, spread: 0.3 };
  /** 2 halves all pauses. */
  readonly speed: number = 1;
  /** Generator of texts. */
  readonly generator: GeneratorName = 'random';
  /** The first answer in free text of the process, to a request that chooses nothing of the simulator; null: one like all others. */
  readonly introduction: string | null = null;
  /** The text of `fixed`; the texts of `sequence`, separated by `|`. */
  readonly text: string = '';
  /** Tokens of generated texts; null: by `text.verbosity`. */
  readonly length: LengthSetting | null = null;
  /** Rounds of calls after a user message before the answer is text, with `tool_choice: "auto"`. */
  readonly toolRounds: number = 1;
  /** Whether usage shows the tokens of a prompt that an earlier one began with. */
  readonly promptCache: boolean = true;
  /** Script files; each defines a model. */
  readonly scripts: readonly string[] = [];
  /** What answers a request that its script has no turn for. */
  readonly unmatched: 'error' | 'generate' = 'error';
  readonly faults: FaultRates = {};
  /** Whether to accept the header `x-simulate`. */
  readonly control: boolean = false;

  constructor(options: Partial<SimulatorOptions> = {}) {
    Object.assign(this, options);
  }

  /** Options from environment variables; `others` provides options without a variable. */
  static from(variables: SimulatorVariables, others: Partial<SimulatorOptions> = {}): SimulatorOptions {
    return new SimulatorOptions({
      ...others,
      seed: variables.SIMULATOR_SEED,
      anyModel: variables.SIMULATOR_ANY_MODEL,
      latency: parseLatency(variables.SIMULATOR_LATENCY) ?? 'instant',
      backgroundLatency: parseLatency(variables.SIMULATOR_BACKGROUND_LATENCY) ?? 'instant',
      speed: variables.SIMULATOR_SPEED,
      generator: variables.SIMULATOR_GENERATOR,
      text: variables.SIMULATOR_TEXT,
      length: parseLength(variables.SIMULATOR_TARGET_TOKENS) ?? null,
      toolRounds: variables.SIMULATOR_TOOL_ROUNDS,
      promptCache: variables.SIMULATOR_PROMPT_CACHE,
      scripts: variables.SIMULATOR_SCRIPTS,
      unmatched: variables.SIMULATOR_UNMATCHED,
      faults: variables.SIMULATOR_FAULTS,
      control: variables.SIMULATOR_CONTROL,
    });
  }
}
