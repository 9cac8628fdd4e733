import { isAtLeast } from '../../api/v1alpha1/index.ts';
import { createEvent, type KubeClient } from '../../pkg/kube/index.ts';
import { type Announcement, announcementsOf } from '../rotation/announcements.ts';
import { createIdentities } from './identities.ts';
import { viaAny } from './observe-kubernetes.ts';
import type { Ports } from './ports.ts';
import type { Reconciled } from './reconcile.ts';
import { saysTheSame } from './report.ts';
import { createSession, type MachineRef, type Readers } from './session.ts';
import { messageOf } from './unknown.ts';

/**
 * Tells the cluster what is done to it, as events of Kubernetes: `kubectl describe node`
 * then says who cordoned and rebooted it, and why.
 */
export interface Announcer {
  /** Takes one look; never waits, and never throws. */
  look(reconciled: Reconciled): void;
  /** Gives what is still on its way a moment, then closes all connections. */
  close(): Promise<void>;
}

/** What an announcer is made with. */
export interface AnnouncerOptions {
  readonly ports: Pick<Ports, 'clock' | 'connections' | 'store'>;
  /** Where this process runs; shown as the instance that reports. */
  readonly host: string;
  /** Told of each event that no API server took, in words. */
  onLost?(why: string): void;
  /** Reads the kubeconfigs that machines issue. */
  readonly readers?: Readers;
}

/** Longest time for one event at each API server that is tried. */
const EVENT_DEADLINE_MS = 5_000;

/** More than these wait only while no API server answers: then the later ones are left out. */
const MOST_WAITING = 20;

/** How long the end waits for what is on its way. */
const LAST_MOMENT_MS = 3_000;

/**
 * Events are for people and decide nothing, so they have connections of their own and are sent beside the rotation,
 * one after the other: an API server that refuses or delays them changes nothing. What cannot be sent is left out.
 */
export function createAnnouncer({ ports, host, onLost, readers }: AnnouncerOptions): Announcer {
  const { clock } = ports;
  const session = createSession(ports, readers);
  const identities = createIdentities(clock);
  /** The last text about each object. */
  const said = new Map<string, string>();
  const ending = new AbortController();
  let waiting = 0;
  let sent = Promise.resolve();

  async function send(announcement: Announcement, reconciled: Reconciled, at: number): Promise<void> {
    if (ending.signal.aborted) return;
    const { stage } = reconciled.operation.status;
    session.use(await identities.talos(await ports.store.readState(), isAtLeast(stage, 'Issuing')));
    const event = {
      ...announcement,
      regarding: { apiVersion: 'v1', namespace: '', uid: uidOf(announcement), ...announcement.regarding },
      at,
      instance: host,
    };
    const taken = await viaAny({ session, ask: serversFor(announcement, reconciled) }, (client: KubeClient) =>
      createEvent(client, event, { deadlineMs: EVENT_DEADLINE_MS, signal: ending.signal }),
    );
    if (!taken.known) throw new Error(taken.message);
  }

  return {
    look(reconciled) {
      const { decision, operation } = reconciled;
      for (const announcement of announcementsOf(decision, operation.status.stage)) {
        const { kind, name } = announcement.regarding;
        const text = `${announcement.action}: ${announcement.note}`;
        const before = said.get(`${kind}/${name}`);
        if ((before !== undefined && saysTheSame(before, text)) || waiting >= MOST_WAITING) continue;
        said.set(`${kind}/${name}`, text);
        const at = clock.now();
        waiting += 1;
        sent = sent
          .then(() => send(announcement, reconciled, at))
          .catch((error: unknown) => onLost?.(`the event "${text}" is lost: ${messageOf(error)}`))
          .finally(() => {
            waiting -= 1;
          });
      }
    },
    async close() {
      const leaving = new AbortController();
      await Promise.race([sent, clock.sleep(LAST_MOMENT_MS, leaving.signal).catch(() => undefined)]);
      leaving.abort();
      ending.abort();
      session.close();
    },
  };
}

/** What `kubectl describe node` looks for: the kubelet names its Node by its name. */
function uidOf({ regarding }: Announcement): string | undefined {
  return regarding.kind === 'Node' ? regarding.name : undefined;
}

/** Control planes that are ready, the one that it is about last: it may be about to go. */
function serversFor({ regarding }: Announcement, { observation }: Reconciled): readonly MachineRef[] {
  const ready = observation.machines.filter(({ apiServer }) => apiServer?.known === true && apiServer.value.ready);
  const isIt = ({ name }: MachineRef) => regarding.kind === 'Node' && name === regarding.name;
  return [...ready.filter((machine) => !isIt(machine)), ...ready.filter(isIt)];
}
