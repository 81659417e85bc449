/** A value that GGUF gives a type of its own; strings and lists of strings need none. */
export type GgufValue =
  | string
  | readonly string[]
  | { readonly uint32: number }
  | { readonly float32: number }
  | { readonly bool: boolean }
  | { readonly int32s: readonly number[] };

/** Numbers of a model. The first size is the one whose elements lie side by side. */
export interface Tensor {
  readonly name: string;
  readonly sizes: readonly number[];
  readonly values: Float32Array;
}

const VERSION = 3;
const ALIGNMENT = 32;
const TYPE = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 };
const FLOAT32_TENSOR = 0;

/** A model file as llama.cpp reads it (its gguf specification, version 3), with all weights in 32 bits. */
export function toGguf(metadata: Readonly<Record<string, GgufValue>>, tensors: readonly Tensor[]): Buffer {
  const entries = Object.entries(metadata);
  const head = [Buffer.from('GGUF'), uint32(VERSION), uint64(tensors.length), uint64(entries.length)];
  const values = entries.flatMap(([key, value]) => [text(key), ...typed(value)]);
  let offset = 0;
  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  for (const { name, sizes, values } of tensors) {
    infos.push(text(name), uint32(sizes.length), ...sizes.map(uint64), uint32(FLOAT32_TENSOR), uint64(offset));
    const bytes = padded(floats(values));
    data.push(bytes);
    offset += bytes.length;
  }
  return Buffer.concat([padded(Buffer.concat([...head, ...values, ...infos])), ...data]);
}

function typed(value: GgufValue): Buffer[] {
  if (typeof value === 'string') return [uint32(TYPE.string), text(value)];
  if ('uint32' in value) return [uint32(TYPE.uint32), uint32(value.uint32)];
  if ('float32' in value) return [uint32(TYPE.float32), floats([value.float32])];
  if ('bool' in value) return [uint32(TYPE.bool), Buffer.of(Number(value.bool))];
  if ('int32s' in value) return [...arrayOf(TYPE.int32, value.int32s.length), ...value.int32s.map(int32)];
  return [...arrayOf(TYPE.string, value.length), ...value.map(text)];
}

function arrayOf(type: number, length: number): Buffer[] {
  return [uint32(TYPE.array), uint32(type), uint64(length)];
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function floats(values: ArrayLike<number>): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (let index = 0; index < values.length; index += 1) bytes.writeFloatLE(values[index] ?? 0, index * 4);
  return bytes;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((ALIGNMENT - (bytes.length % ALIGNMENT)) % ALIGNMENT)]);
}
