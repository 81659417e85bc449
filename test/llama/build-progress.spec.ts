import { describe, expect, it } from '@jest/globals';

import { BuildProgress } from './build-llama-server.js';

/** Shows a build, whose time the test decides, and returns what was written. */
function shown(isTTY: boolean, build: (progress: BuildProgress, wait: (seconds: number) => void) => void): string {
  let written = '';
  let now = 0;
  const progress = new BuildProgress({ isTTY, write: (text) => void (written += text) }, () => now);
  build(progress, (seconds) => void (now += seconds * 1000));
  progress.end();
  return written;
}

describe('the progress of a build', () => {
  it('the progress of a build is a line for each step and each tenth of it, where there is no terminal', () => {
    const written = shown(false, (progress, wait) => {
      progress.begin('Fetching');
      wait(5);
      progress.begin('Compiling');
      progress.read('-- nothing yet\n[1/200] Building C object a.o\n');
      wait(60);
      progress.read('[19/200] Building CXX object b.o\n[2');
      progress.read('0/200] Building');
      progress.read(' CXX object c.o\n[21/200] Building CXX object d.o\n');
      wait(600);
      progress.read('[200/200] Linking\n');
    });
    expect(written.split('\n')).toEqual([
      '[0:00] Fetching',
      '[0:05] Compiling',
      '[0:05] Compiling: 0 %',
      '[1:05] Compiling: 10 %',
      '[11:05] Compiling: 100 %',
      '',
    ]);
  });

  it('the progress of a build is one line for each step on a terminal, written anew', () => {
    const written = shown(true, (progress, wait) => {
      progress.begin('Fetching');
      wait(1);
      progress.show();
      progress.begin('Compiling');
      progress.read('[  7%] Building C object a.o\n[  8%] Building C object b.o\n');
      progress.read('[  8%] Building C object c.o\n');
    });
    const lines = written.split('\n').map((line) => line.split('\r\u001b[K').slice(1));
    expect(lines).toEqual([['[0:00] Fetching', '[0:01] Fetching'], ['[0:01] Compiling', '[0:01] Compiling: 8 %'], []]);
  });
});
