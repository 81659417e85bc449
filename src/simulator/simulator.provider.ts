import { hash } from 'node:crypto';

import { Inject, Logger, type OnModuleInit, Optional } from '@nestjs/common';

import {
  type EmbeddingRequest,
  type Embeddings,
  type ModelInfo,
  ModelProvider,
  type ModelSink,
  PushingProvider,
  type Turn,
} from '../providers/index.js';
import { Clock } from '../time/index.js';
import { LongText } from './answer/token-pieces.js';
import {
  type PlannedAnswer,
  type AnswerPlanOptions,
  identify,
  planAnswer,
  type RandomFor,
  sumParts,
} from './answer/plan-answer.js';
import { toSteps } from './answer/to-steps.js';
import type { Wording } from './answer/write-text.js';
import { BoundedCache } from './bounded-cache.js';
import { type Control, CONTROL_HEADER, readControl, refuseControl } from './control.js';
import { drawByRates, drawFault, type Fault, refusesAtOnce, withFault } from './faults.js';
import { type Latency, withLatency } from './latency.js';
import { describeModel, isListed, latencyOf, listModels } from './model-catalogue.js';
import { type Performance, play } from './play.js';
import { PromptCache } from './prompt-cache.js';
import { requireAskedApprovals } from './script/approvals.js';
import { isTimed, planScript } from './script/plan-script.js';
import { SeededRandom } from './seeded-random.js';
import { isEmbeddingModel, simulateEmbeddings } from './simulated-embeddings.js';
import { SIMULATOR } from './names.js';
import { SimulatorOptions } from './simulator-options.js';
import { type Space, SPACE_HEADER, Spaces } from './spaces/index.js';
import type { Plan, Step } from './step.js';

/** Characters of the texts of all remembered answers. */
const MOST_CHARACTERS = 512 * 1024;

const LONGEST_KEPT = 16 * 1024;

/** The plan of a turn that is refused. */
const NOTHING: Plan = { steps: [{ type: 'finish', reason: 'stop' }], written: null };

/** Input for planning a turn. */
interface Cue {
  readonly turn: Turn;
  readonly control: Control;
  readonly space: Space;
  /** Maximum output tokens. */
  readonly limit: number;
  /** Of the request and its seed. */
  readonly identity: string;
  readonly randomFor: RandomFor;
  readonly sink: ModelSink;
}

/**
 * A provider of simulated models, without network or keys. Output is synthetic and deterministic: tool arguments and structured
 * output are valid under their schemas, and tokens are counted with o200k_base. It can simulate latency and faults, and follow
 * scripts.
 */
@ModelProvider(SIMULATOR)
export class SimulatorProvider extends PushingProvider implements OnModuleInit {
  override readonly isFallback: boolean;
  override readonly isRecorded = false;
  /** Scripts and recordings may play hosted tools; the simulator itself runs none. */
  override hostedTools: PushingProvider['hostedTools'] = [];
  override readonly requestHeaders = [CONTROL_HEADER, SPACE_HEADER];
  private readonly answers = new RememberedAnswers();
  private readonly prompts = new PromptCache();
  private readonly logger = new Logger('Simulator');
  private isWarned = false;
  private isIntroduced = false;

  constructor(
    @Inject(SimulatorOptions) private readonly options: SimulatorOptions,
    @Inject(Clock) private readonly clock: Clock,
    @Optional() @Inject(Spaces) private readonly spaces: Spaces = new Spaces(options),
  ) {
    super();
    this.isFallback = options.isFallback;
  }

  /** Reads the scripts. Throws EnvironmentError if any is invalid. */
  async onModuleInit(): Promise<void> {
    await this.spaces.load();
    this.spaces.whenScripted(() => (this.hostedTools = 'all'));
  }

  override async models(): Promise<readonly ModelInfo[]> {
    const models = this.spaces.scripts.map(({ file }) => file.model);
    const scripted = models.filter((model) => model !== '*' && !isListed(model));
    return [...listModels(), ...scripted.map(describeModel)];
  }

  override find(model: string, { alone }: { readonly alone: boolean }): ModelInfo | undefined {
    if (model === '') return undefined;
    const isServed =
      (this.options.anyModel ?? alone) || isListed(model) || isEmbeddingModel(model) || this.spaces.serve(model);
    return isServed ? describeModel(model) : undefined;
  }

  override push(turn: Turn, sink: ModelSink): Promise<void> {
    return play(() => this.prepare(turn, sink), this.clock, sink);
  }

  /** Vectors by the words of texts; any model has them. */
  override async embed(request: EmbeddingRequest): Promise<Embeddings> {
    return simulateEmbeddings(request);
  }

  private async prepare(turn: Turn, sink: ModelSink): Promise<Performance> {
    requireAskedApprovals(turn);
    const control = this.readControl(turn);
    const input = await this.countTokens(turn, { signal: sink.signal });
    const cached = this.options.promptCache ? await this.prompts.take(turn, input, sink.signal) : 0;
    const identity = identify(turn, control.seed ?? this.options.seed);
    const randomFor: RandomFor = (use) => new SeededRandom(use, identity);
    const space = this.spaces.ofTurn(turn);
    const cue: Cue = { turn, control, space, limit: limitOf(turn), identity, randomFor, sink };
    // Repeated requests draw new faults and latencies, unless the request sets a seed.
    const time = space.asked.next(identity);
    const random = new SeededRandom('time', control.seed === undefined ? time : 0, identity);
    const queued = control.fault === undefined ? space.takeFault() : undefined;
    // A script keeps its turn for the retry.
    const plan = queued !== undefined && refusesAtOnce(queued) ? NOTHING : await this.plan(cue, random);
    const drawn = time < (control.times ?? Infinity) ? this.drawFault(control, random) : undefined;
    const fault = queued === undefined ? drawn : drawFault(queued.kind, queued, random);
    const steps = fault === undefined ? plan.steps : withFault(plan.steps, fault, turn.settings.model);
    const speed = control.speed ?? this.options.speed;
    return { ...plan, steps, speed, input, cached };
  }

  private async plan(cue: Cue, random: SeededRandom): Promise<Plan> {
    const { turn, control, space, limit, randomFor } = cue;
    const script = space.scriptFor(turn);
    // Summaries are of the service, which no script knows.
    if (script === undefined || turn.purpose === 'summary') return this.planAnswer(cue, random);
    const scripted = script.pick(turn.context, control.turn);
    if (scripted === null) {
      if (this.options.unmatched === 'error') throw space.refuse(script, turn);
      return this.planAnswer(cue, random);
    }
    const keepTime = script.keepsTime && control.latency === undefined && isTimed(scripted);
    const plan = planScript(scripted, turn, { keepTime, limit, randomFor });
    return keepTime ? plan : { ...plan, steps: this.slowDown(plan.steps, cue, random) };
  }

  private async planAnswer(cue: Cue, random: SeededRandom): Promise<Plan> {
    const { turn, control, limit, identity, randomFor, sink } = cue;
    const eagerness = { rounds: control.rounds ?? this.options.toolRounds, calls: control.calls ?? null };
    const wording = this.introduce(cue) ?? this.chooseWording(control, cue.space);
    const answer = await this.answers.plan(turn, identity, { wording, eagerness, limit, sink }, randomFor);
    const reasoning = answer.reasoning?.tokens ?? 0;
    return {
      steps: this.slowDown(toSteps(answer, turn, randomFor), cue, random),
      written: { output: reasoning + sumParts(answer.parts), reasoning },
    };
  }

  private slowDown(steps: Iterable<Step>, { turn, control }: Cue, random: SeededRandom): Iterable<Step> {
    const latency = this.chooseLatency(turn.settings, control);
    return latency === null ? steps : withLatency(steps, latency, random);
  }

  private chooseLatency({ model, background }: Turn['settings'], control: Control): Latency | null {
    const { latency, backgroundLatency } = this.options;
    const setting = control.latency ?? (background === true ? backgroundLatency : latency);
    if (setting === 'instant') return null;
    return setting === 'realistic' ? latencyOf(model) : setting;
  }

  /** The wording of the first answer in free text, if it says what answers; undefined afterwards. */
  private introduce({ turn, control }: Cue): Wording | undefined {
    const { introduction: text } = this.options;
    const { tools, text: wanted } = turn.settings;
    const isFree = tools.length === 0 && (wanted.format?.type ?? 'text') === 'text' && turn.purpose !== 'summary';
    if (text === null || this.isIntroduced || !isFree || Object.keys(control).length > 0) return undefined;
    this.isIntroduced = true;
    return { generator: 'fixed', text, length: null, nextPosition: () => 0 };
  }

  private chooseWording(control: Control, space: Space): Wording {
    const { options } = this;
    const { generator = options.generator, text = options.text, length = options.length } = control;
    const isGiven = generator === 'fixed' || generator === 'sequence';
    if (isGiven && text === '') throw refuseControl(`generator=${generator} needs a text.`);
    return { generator, text, length, nextPosition: () => space.asked.next(`sequence ${hash('sha256', text)}`) };
  }

  private drawFault(control: Control, random: SeededRandom): Fault | undefined {
    const { fault } = control;
    if (fault === 'none') return undefined;
    return fault === undefined ? drawByRates(this.options.faults, control, random) : drawFault(fault, control, random);
  }

  private readControl({ headers }: Turn): Control {
    const header = headers[CONTROL_HEADER];
    if (header === undefined) return {};
    if (this.options.control) return readControl(header);
    // Logged once, because a test that relies on a fault could pass without it.
    if (!this.isWarned) this.logger.warn('x-simulate is ignored: it needs SIMULATOR_CONTROL=true');
    this.isWarned = true;
    return {};
  }
}

/** Plans answers, and remembers recent ones: seed and request determine them. */
class RememberedAnswers {
  private readonly answers = new BoundedCache<PlannedAnswer>(MOST_CHARACTERS);

  /** The answer to a turn. `identity` is that of the request and its seed. Throws like `planAnswer`. */
  async plan(turn: Turn, identity: string, options: AnswerPlanOptions, randomFor: RandomFor): Promise<PlannedAnswer> {
    const { generator, text } = options.wording;
    // The next text of a sequence is another one.
    if (generator === 'sequence') return planAnswer(turn, options, randomFor);
    const { reasoning, parallel_tool_calls: isParallel } = turn.settings;
    const { limit, eagerness } = options;
    const { length } = options.wording;
    const key = JSON.stringify([
      identity,
      turn.purpose,
      limit,
      reasoning,
      isParallel,
      eagerness,
      generator,
      text,
      length,
    ]);
    const known = this.answers.get(key);
    if (known !== undefined) return known;
    const answer = await planAnswer(turn, options, randomFor);
    const characters = lengthOf(answer);
    // Another turn may have planned the same meanwhile.
    const isNew = this.answers.get(key) === undefined;
    if (isNew && characters <= LONGEST_KEPT && !options.sink.isClosed) {
      this.answers.add(key, answer, characters);
    }
    return answer;
  }
}

function lengthOf({ parts, reasoning }: PlannedAnswer): number {
  let length = reasoning?.encrypted.length ?? 0;
  for (const { text } of reasoning?.summary ?? []) length += text.length;
  for (const { pieces } of parts) {
    // Written while it is read, so that there is nothing to remember.
    if (pieces instanceof LongText) return Infinity;
    for (const { text } of pieces) length += text.length;
  }
  return length;
}

/** Maximum output tokens of a turn, by the request and the model. */
function limitOf({ settings }: Turn): number {
  return Math.min(settings.max_output_tokens ?? Infinity, describeModel(settings.model).maxOutputTokens);
}
