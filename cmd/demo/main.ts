import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { demoSummary, LabError, runDemo } from '../../internal/lab/index.ts';

// `npm run demo`: see docs/reference/lab.md.
const leaving = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => leaving.abort());
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

try {
  const result = await runDemo({
    program: [process.execPath, join(fileURLToPath(import.meta.url), '..', '..', 'ichor', 'main.ts')],
    controlPlanes: 3,
    workers: 1,
    bootSeconds: 1,
    settle: '2s',
    stdio: 'inherit',
    say,
    signal: leaving.signal,
  });
  say(`\n${demoSummary(result)}`);
  process.exitCode = result.isWhole ? 0 : 1;
} catch (error) {
  if (!(error instanceof LabError)) throw error;
  process.stderr.write(`error: ${error.message}\n${error.advice ?? ''}\n`);
  process.exitCode = 1;
}
