import { makeStamp } from '../stamp.ts';
import type { UpstreamTraffic } from '../upstream-traffic.ts';

/** An answer of the upstream, as frames of its protocol. */
export interface PacedAnswer {
  /** The frames before the first delta. */
  open(): readonly string[];
  delta(text: string): string;
  /** The frames after the last delta. */
  close(deltas: number): readonly string[];
}

/** Where frames go: one call per burst. */
export interface FrameWriter {
  write(frames: readonly string[]): void;
  /** The last frames. */
  end(frames: readonly string[]): void;
}

/** Sends an answer at the pace of its traffic. Each delta contains the time of its writing. */
export function sendPaced({ deltas, burst, gapMs }: UpstreamTraffic, answer: PacedAnswer, writer: FrameWriter): void {
  let sent = 0;
  const takeBurst = (): string[] => {
    const frames: string[] = [];
    for (const end = Math.min(sent + burst, deltas); sent < end; sent++) frames.push(answer.delta(makeStamp()));
    return frames;
  };
  const send = (frames: readonly string[]): void => {
    writer.write(frames);
    if (gapMs === 0 || sent === deltas) setImmediate(goOn);
    // Random pauses are realistic, and keep streams from staying synchronised after a delay of the server.
    else setTimeout(goOn, gapMs * (0.5 + Math.random()));
  };
  const goOn = (): void => {
    if (sent === deltas) writer.end(answer.close(deltas));
    else send(takeBurst());
  };
  send([...answer.open(), ...takeBurst()]);
}
