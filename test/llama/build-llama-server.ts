/**
 * `npm run llama`: builds llama.cpp's server for the tests that need one, unless it is kept from before. Where it cannot, it says
 * why, and fails nothing.
 */
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { availableParallelism, constants, setPriority, tmpdir, totalmem } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package that carries llama.cpp's source, as a git bundle. Nothing of it is run but what is compiled here. */
const PACKAGE = 'node-llama-cpp@3.22.1';
const INTEGRITY = 'sha512-bltIipuWmc123H7tMIgDGKSsSrhmhlQYeVUC48XTjVW7XGJJiJJyCdlTMzQ/LiWoPkGDpcL4FviDpgw7qfTiDw==';
const BUNDLE = 'package/llama/gitRelease.bundle';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What the compiler may need for one file. */
const BYTES_PER_JOB = 1.5 * 2 ** 30;
const SHOWN_OUTPUT = 4000;

/** Clones share the folder of servers, and each may want another one: only what nobody has asked for this long is removed. */
const KEPT_UNUSED_MS = 30 * 24 * 60 * 60 * 1000;

/** One program without libraries of its own: no web page, no TLS, no GPU, no network, and code for any CPU of this kind. */
const OPTIONS = {
  CMAKE_BUILD_TYPE: 'None',
  // Compiles in half the time of a release, and the model is tiny.
  CMAKE_C_FLAGS: '-O1',
  CMAKE_CXX_FLAGS: '-O1',
  BUILD_SHARED_LIBS: 'OFF',
  LLAMA_ALL_WARNINGS: 'OFF',
  LLAMA_BUILD_APP: 'OFF',
  LLAMA_BUILD_EXAMPLES: 'OFF',
  LLAMA_BUILD_TESTS: 'OFF',
  LLAMA_BUILD_UI: 'OFF',
  LLAMA_USE_PREBUILT_UI: 'OFF',
  LLAMA_OPENSSL: 'OFF',
  LLAMA_SUBPROCESS: 'OFF',
  GGML_ACCELERATE: 'OFF',
  GGML_BLAS: 'OFF',
  GGML_METAL: 'OFF',
  GGML_CCACHE: 'OFF',
  GGML_LLAMAFILE: 'OFF',
  GGML_OPENMP: 'OFF',
  GGML_CPU_REPACK: 'OFF',
  GGML_NATIVE: 'OFF',
  GGML_SSE42: 'OFF',
  GGML_AVX: 'OFF',
  GGML_AVX2: 'OFF',
  GGML_FMA: 'OFF',
  GGML_F16C: 'OFF',
  GGML_BMI2: 'OFF',
};

/** What the server is built from, and for; whichever compiler does it. */
export const RECIPE = {
  source: PACKAGE,
  integrity: INTEGRITY,
  options: OPTIONS,
  platform: process.platform as string,
  arch: process.arch as string,
};

/**
 * Where the server of a recipe is kept: in `.cache`, or in another folder, which a path that is not absolute names from the root
 * of the repository. Another recipe has another file.
 */
export function builtPath(recipe: typeof RECIPE, cache = ''): string {
  const digest = createHash('sha256').update(JSON.stringify(recipe)).digest('hex').slice(0, 12);
  const name = `${recipe.source}-${recipe.platform}-${recipe.arch}-${digest}`;
  return join(resolve(ROOT, cache === '' ? '.cache' : cache), 'llama-server', name);
}

/** Where the built server lies, if it was built. */
export const BUILT_LLAMA_SERVER = builtPath(RECIPE, process.env['ANTIPHON_CACHE']);

/** Where progress is shown, such as `process.stdout`. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** How cmake begins a line: `[ 42%]` with make, `[123/456]` with ninja. */
const DONE = /\[ *(\d+)(?:%|\/(\d+))\]/g;

/** Longest beginning of such a line that a chunk may cut off. */
const CUT_OFF = 16;

/**
 * Shows which step a build is at, how far it is if the step says so, and the time since the build began: on a terminal one line
 * that changes, elsewhere a line for each step and for each tenth of it.
 */
export class BuildProgress {
  private readonly output: ProgressOutput;
  private readonly now: () => number;
  private readonly started: number;
  private step = '';
  private rest = '';
  private percent = -1;

  /** `now` gives milliseconds. */
  constructor(output: ProgressOutput, now: () => number = () => performance.now()) {
    this.output = output;
    this.now = now;
    this.started = now();
  }

  begin(step: string): void {
    if (this.output.isTTY === true && this.step !== '') this.output.write('\n');
    this.step = step;
    this.rest = '';
    this.percent = -1;
    this.show();
  }

  /** Reads what a program writes. */
  read(chunk: string): void {
    const text = this.rest + chunk;
    this.rest = text.slice(-CUT_OFF);
    const [, done, all = '100'] = [...text.matchAll(DONE)].at(-1) ?? [];
    const percent = done === undefined ? -1 : Math.floor((100 * Number(done)) / Number(all));
    const isNews = this.output.isTTY === true ? percent > this.percent : tenthOf(percent) > tenthOf(this.percent);
    if (!isNews) return;
    this.percent = percent;
    this.show();
  }

  /** Writes the line, on a terminal over the last one. */
  show(): void {
    const seconds = Math.floor((this.now() - this.started) / 1000);
    const elapsed = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    const line = `[${elapsed}] ${this.step}${this.percent < 0 ? '' : `: ${this.percent} %`}`;
    this.output.write(this.output.isTTY === true ? `\r\u001b[K${line}` : `${line}\n`);
  }

  /** Ends the last line of a terminal. */
  end(): void {
    if (this.output.isTTY === true && this.step !== '') this.output.write('\n');
  }
}

function tenthOf(percent: number): number {
  return Math.floor(percent / 10);
}

if (import.meta.main) {
  try {
    await provide();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.warn(`NO LLAMA-SERVER, so the tests against it are going to be SKIPPED: ${reason}`);
  }
}

async function provide(): Promise<void> {
  if (existsSync(BUILT_LLAMA_SERVER)) {
    if (await isThere(BUILT_LLAMA_SERVER)) {
      // A folder that is only to be read serves too.
      await utimes(BUILT_LLAMA_SERVER, new Date(), new Date()).catch(() => undefined);
      console.log(`llama-server is there: ${BUILT_LLAMA_SERVER}`);
      return;
    }
    // Kept by a system with other libraries. The tests must not find it if it cannot be replaced.
    await rm(BUILT_LLAMA_SERVER, { force: true });
  }
  const hasNinja = await isThere('ninja');
  await requirePrograms(['npm', 'tar', 'git', 'cmake', 'c++', hasNinja ? 'ninja' : 'make']);
  // Before the minutes of building, if it cannot be kept.
  await mkdir(dirname(BUILT_LLAMA_SERVER), { recursive: true });
  console.log(`Building llama-server from ${PACKAGE}: some minutes, once.`);
  const progress = new BuildProgress(process.stdout);
  const ticking = process.stdout.isTTY ? setInterval(() => progress.show(), 1000) : undefined;
  const started = performance.now();
  const workshop = await mkdtemp(join(tmpdir(), 'antiphon-llama-build-'));
  removeWhenStopped(workshop);
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
    await fetchSource(workshop, progress);
    await build(workshop, hasNinja ? ['-G', 'Ninja'] : [], progress);
    await keep(join(workshop, 'build/bin/llama-server'), BUILT_LLAMA_SERVER);
  } finally {
    clearInterval(ticking);
    progress.end();
    await rm(workshop, { recursive: true, force: true });
  }
  console.log(`Built in ${Math.round((performance.now() - started) / 1000)} s: ${BUILT_LLAMA_SERVER}`);
}

/** The source and what is compiled of it are large. */
function removeWhenStopped(workshop: string): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Not `once`: npm sends the signal a second time, which would end this before it is done.
    process.on(signal, () => {
      // Compilers may still be writing.
      rmSync(workshop, { recursive: true, force: true, maxRetries: 5 });
      process.exit(128 + constants.signals[signal]);
    });
  }
}

/**
 * Puts a program where it is kept, whole from the first moment: another build may do the same, and tests may run what was there.
 * Removes what lies beside it unused.
 */
export async function keep(program: string, path: string): Promise<void> {
  // The folder may be on another disk, to which nothing can be renamed.
  const draft = `${path}.${randomUUID()}`;
  await copyFile(program, draft);
  await rename(draft, path);
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    const other = join(folder, name);
    // Another build may have removed it just now.
    const { mtimeMs = Infinity } = await stat(other).catch(() => ({ mtimeMs: undefined }));
    if (Date.now() - mtimeMs > KEPT_UNUSED_MS) await rm(other, { recursive: true, force: true });
  }
}

async function requirePrograms(programs: readonly string[]): Promise<void> {
  const there = await Promise.all(programs.map(isThere));
  const missing = programs.filter((_, index) => there[index] === false);
  if (missing.length > 0) throw new Error(`building it takes ${missing.join(', ')}, not to be found here.`);
}

function isThere(program: string): Promise<boolean> {
  const itIs = (): boolean => true;
  const itIsNot = (): boolean => false;
  return run(program, ['--version'], { cwd: '.' }).then(itIs, itIsNot);
}

/** Leaves llama.cpp's source in `source`. */
async function fetchSource(cwd: string, progress: BuildProgress): Promise<void> {
  progress.begin(`Fetching ${PACKAGE} from the registry`);
  // From the root, whose .npmrc may name another registry.
  await run('npm', ['pack', PACKAGE, '--ignore-scripts', '--pack-destination', cwd], { cwd: ROOT });
  const [archive = ''] = await readdir(cwd);
  const content = await readFile(join(cwd, archive));
  const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`;
  if (integrity !== INTEGRITY) throw new Error(`${archive} is not what was pinned, but ${integrity}.`);
  progress.begin("Unpacking llama.cpp's source");
  await run('tar', ['-xzf', archive, BUNDLE], { cwd });
  await run('git', ['clone', '--quiet', BUNDLE, 'source'], { cwd });
}

/** Compiles `source` in `build`. */
async function build(cwd: string, generator: readonly string[], progress: BuildProgress): Promise<void> {
  progress.begin('Configuring');
  const options = Object.entries(OPTIONS).map(([name, value]) => `-D${name}=${value}`);
  await run('cmake', ['-S', 'source', '-B', 'build', ...generator, ...options], { cwd });
  const jobs = Math.max(1, Math.min(availableParallelism(), Math.floor(totalmem() / BYTES_PER_JOB)));
  progress.begin(`Compiling, ${jobs} files at once`);
  await run('cmake', ['--build', 'build', '--target', 'llama-server', '--parallel', String(jobs)], { cwd, progress });
}

/** Parameters of run. */
interface RunOptions {
  readonly cwd: string;
  /** Reads the output. */
  readonly progress?: BuildProgress;
}

/** Runs a program to its end. Rejects with the end of its output unless it succeeds. */
async function run(program: string, args: readonly string[], options: RunOptions): Promise<void> {
  const { cwd, progress } = options;
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const keep = (chunk: string): void => {
    output = (output + chunk).slice(-SHOWN_OUTPUT);
    progress?.read(chunk);
  };
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) throw new Error(`${program} ${args[0] ?? ''} ended with ${status ?? 'a signal'}:\n${output}`);
}
