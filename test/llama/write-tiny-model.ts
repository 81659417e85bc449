import { writeFile } from 'node:fs/promises';

import { SeededRandom } from '../../src/simulator/seeded-random.js';
import { CHAT_TEMPLATE } from './chat-template.js';
import { type GgufValue, type Tensor, toGguf } from './gguf.js';
import { END_OF_MESSAGE, TOKEN_KIND, VOCABULARY } from './tiny-vocabulary.js';

const LAYERS = 2;
const WIDTH = 32;
const HEADS = 2;
const INNER_WIDTH = 64;
const CONTEXT = 32_768;
/** Every token has this much in its first dimension, which the output turns into the token's lean. */
const CONSTANT = 8;

/** Writes a model of the llama architecture with random weights, the same every time; some 150 kB. */
export async function writeTinyModel(path: string): Promise<void> {
  await writeFile(path, toGguf(metadata(), tensors()));
}

function metadata(): Record<string, GgufValue> {
  return {
    'general.architecture': 'llama',
    'general.name': 'Tiny random model',
    'llama.context_length': { uint32: CONTEXT },
    'llama.embedding_length': { uint32: WIDTH },
    'llama.block_count': { uint32: LAYERS },
    'llama.feed_forward_length': { uint32: INNER_WIDTH },
    'llama.attention.head_count': { uint32: HEADS },
    'llama.attention.layer_norm_rms_epsilon': { float32: 1e-5 },
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'gpt-2',
    'tokenizer.ggml.tokens': VOCABULARY.map(({ spelling }) => spelling),
    'tokenizer.ggml.token_type': { int32s: VOCABULARY.map(({ kind }) => TOKEN_KIND[kind]) },
    'tokenizer.ggml.merges': [],
    'tokenizer.ggml.eos_token_id': { uint32: END_OF_MESSAGE },
    'tokenizer.ggml.add_bos_token': { bool: false },
    'tokenizer.chat_template': CHAT_TEMPLATE,
  };
}

function tensors(): Tensor[] {
  const embedding = random('token_embd.weight', WIDTH, VOCABULARY.length);
  const output = random('output.weight', WIDTH, VOCABULARY.length);
  // What the last normalisation makes of the constant; all other dimensions are about 1 before it.
  const normalised = CONSTANT / Math.sqrt((CONSTANT ** 2 + WIDTH - 1) / WIDTH);
  for (const [token, { lean }] of VOCABULARY.entries()) {
    embedding.values[token * WIDTH] = CONSTANT;
    output.values[token * WIDTH] = lean / normalised;
  }
  const layers = Array.from({ length: LAYERS }, (_, layer) => layerTensors(`blk.${layer}`));
  return [embedding, ...layers.flat(), ones('output_norm.weight'), output];
}

function layerTensors(layer: string): Tensor[] {
  return [
    ones(`${layer}.attn_norm.weight`),
    ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].map((name) => random(`${layer}.${name}.weight`, WIDTH, WIDTH)),
    ones(`${layer}.ffn_norm.weight`),
    random(`${layer}.ffn_gate.weight`, WIDTH, INNER_WIDTH),
    random(`${layer}.ffn_up.weight`, WIDTH, INNER_WIDTH),
    random(`${layer}.ffn_down.weight`, INNER_WIDTH, WIDTH),
  ];
}

/** A matrix whose products are about as large as what they are of. */
function random(name: string, inputs: number, outputs: number): Tensor {
  const generator = new SeededRandom('tiny model', name);
  const scale = name === 'token_embd.weight' ? 1 : 1 / Math.sqrt(inputs);
  const values = Float32Array.from({ length: inputs * outputs }, () => generator.pickNormal() * scale);
  return { name, sizes: [inputs, outputs], values };
}

function ones(name: string): Tensor {
  return { name, sizes: [WIDTH], values: new Float32Array(WIDTH).fill(1) };
}
