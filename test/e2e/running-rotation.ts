import { setTimeout as sleep } from 'node:timers/promises';
import type { Reason } from '../../api/v1alpha1/index.ts';
import type { AuditEntry } from '../../internal/controller/index.ts';
import { run, tail } from '../support/run.ts';
import { type IchorProcess, readAudit, startIchor, untilAudit } from './ichor-process.ts';
import { fits } from './kill-moments.ts';

/** Effects that change a machine. */
const TOUCHING = new Set(['apply-config', 'apply-configs', 'cordon', 'drain', 'forfeit-leadership', 'reboot']);

const EXPLAIN_EVERY_MS = 1_000;

/** What `ichor operation explain -o json` says, as far as tests ask. */
export interface Explained {
  readonly stage: string;
  readonly reason: Reason;
  readonly message: string;
  readonly advice: string;
}

/** A rotation that goes on in a process of its own while a test does things to the cluster. */
export interface RunningRotation {
  readonly ichor: IchorProcess;
  /** Waits for the next entry of the trail that fits, counted from the moment that was waited for before. */
  moment(wanted: Partial<AuditEntry>): Promise<void>;
  /** Waits until `operation explain` gives this reason with this text in its message. */
  reason(reason: Reason, about: string): Promise<Explained>;
  /** Entries of the trail about changes of machines, so far. */
  touched(): AuditEntry[];
}

/** Starts `ichor cluster rotate-ca --all`, built, following it to its end. */
export function startRotation(directory: string, program: string): RunningRotation {
  const args = ['cluster', 'rotate-ca', '--dir', directory, '--all', '--yes', '--follow'];
  const ichor = startIchor([...args, '--previous-bundle', 'remove'], { home: directory, program });
  let seen = 0;
  let isOver = false;
  void ichor.ended.then(() => {
    isOver = true;
  });

  function ended(before: string): Error {
    return new Error(`ichor ended before ${before}:\n${tail(ichor.output(), 20)}`);
  }

  async function explain(): Promise<Explained> {
    const asked = ['operation', 'explain', '--dir', directory, '--stored', '-o', 'json'];
    const result = await run(process.execPath, [program, ...asked], { env: { HOME: directory }, timeoutMs: 20_000 });
    if (result.code !== 0) throw new Error(`ichor operation explain: ${tail(result.stderr)}`);
    return JSON.parse(result.stdout) as Explained;
  }

  return {
    ichor,
    async moment(wanted) {
      const entry = await untilAudit(directory, ichor, seen, (each) => fits(each, wanted));
      if (entry === undefined) throw ended(JSON.stringify(wanted));
      seen = readAudit(directory).findIndex((each, index) => index >= seen && fits(each, wanted)) + 1;
    },
    async reason(reason, about) {
      for (;;) {
        const explained = await explain();
        if (explained.reason === reason && explained.message.includes(about)) return explained;
        if (isOver) throw ended(`the reason ${reason} about ${about}; the last was ${explained.reason}`);
        await sleep(EXPLAIN_EVERY_MS);
      }
    },
    touched: () => readAudit(directory).filter((entry) => TOUCHING.has(entry.effect) && entry.phase === 'before'),
  };
}
