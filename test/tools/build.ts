import { ensureTools } from './tools.ts';

// `npm run tools [-- NAME...]`: builds every real part, or the named ones, and fails if one cannot be built.
const names = process.argv.slice(2);
try {
  await ensureTools({ required: true, ...(names.length > 0 && { only: names }) });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
