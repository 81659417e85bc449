import { crc32, deflateSync } from 'node:zlib';

/** A picture as a PDF has it, unpacked. */
export interface RawImage {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array | Uint8ClampedArray;
}

/** Pixels of the longer side that models look at; more only costs. */
const LONGEST_SIDE = 2000;

/** Values of a pixel, with PNG's number for such pixels. */
const COLOR_TYPES: ReadonlyMap<number, number> = new Map([
  [1, 0],
  [3, 2],
  [4, 6],
]);

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** A picture as PNG, made smaller by a whole factor where it is large. Undefined for pixels of another kind than grey, RGB, RGBA, or black and white. */
export function toPng(image: RawImage): Buffer | undefined {
  const { width, height, data } = image.data.length === bytesOfBits(image) ? toGrey(image) : image;
  const channels = data.length / (width * height);
  const colorType = COLOR_TYPES.get(channels);
  if (colorType === undefined) return undefined;
  const factor = Math.ceil(Math.max(width, height) / LONGEST_SIDE);
  const [columns, rows] = [Math.floor(width / factor), Math.floor(height / factor)];
  if (columns === 0 || rows === 0) return undefined;
  // Each line begins with its filter: none.
  const line = 1 + columns * channels;
  const pixels = Buffer.alloc(rows * line);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      for (let channel = 0; channel < channels; channel++) {
        let sum = 0;
        for (let y = row * factor; y < (row + 1) * factor; y++) {
          for (let x = column * factor; x < (column + 1) * factor; x++) {
            sum += data[(y * width + x) * channels + channel] ?? 0;
          }
        }
        pixels[row * line + 1 + column * channels + channel] = Math.round(sum / factor ** 2);
      }
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(columns, 0);
  header.writeUInt32BE(rows, 4);
  header.set([8, colorType], 8);
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', deflateSync(pixels)), chunk('IEND')]);
}

/** Bytes of a picture with a bit for each pixel. */
function bytesOfBits({ width, height }: RawImage): number {
  return ((width + 7) >> 3) * height;
}

/** Bits that are set are white. */
function toGrey({ width, height, data }: RawImage): RawImage {
  const grey = new Uint8Array(width * height);
  const line = (width + 7) >> 3;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const byte = data[y * line + (x >> 3)] ?? 0;
      grey[y * width + x] = ((byte >> (7 - (x & 7))) & 1) * 255;
    }
  }
  return { width, height, data: grey };
}

function chunk(type: string, content: Buffer = Buffer.alloc(0)): Buffer {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
