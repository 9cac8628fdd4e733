import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type AgeCredentials, type BundleDocument, openBundle } from '../../pkg/bundle/index.ts';
import { type MachineConfigView, readMachineConfig } from '../../pkg/machineconfig/index.ts';
import type { Placement } from '../simulator/index.ts';
import {
  type Blueprint,
  type BlueprintOptions,
  CLUSTER_NAME,
  endpointUrl,
  placementsOf,
  slotsOf,
} from './blueprint.ts';
import { asText, readFullConfiguration } from './configuration.ts';
import { LabError } from './lab-error.ts';
import { type Copy, replaceKeys } from './replace-keys.ts';

/** What a rehearsal is made from. */
export interface RehearsalOptions {
  /** A directory with `secrets.yaml` and machine configurations, or a bundle alone. */
  readonly from: string;
  /** New keys, certificates and tokens in the place of the real ones. */
  readonly replaceKeys: boolean;
  /** What opens an encrypted bundle. */
  readonly credentials: AgeCredentials;
}

/** A rehearsal: how many machines it has by itself, and what they begin with. */
export interface Rehearsal {
  readonly controlPlanes: number;
  readonly workers: number;
  blueprint(options: BlueprintOptions): Promise<Blueprint>;
}

/** One machine configuration that was found. */
interface Found {
  readonly file: string;
  readonly text: string;
  readonly view: MachineConfigView;
  /** Empty where the configuration names no machine: it is one for any machine of its role. */
  readonly hostname: string;
}

/**
 * Reads what a rehearsal is made from; the files are copied, never changed.
 * Errors: `directory` where something does not fit together; BundleError and
 * MachineConfigError as their readers say.
 */
export async function readRehearsal(options: RehearsalOptions): Promise<Rehearsal> {
  const { from } = options;
  const isFolder = (await stat(from).catch(() => missing(from))).isDirectory();
  const bundlePath = isFolder ? join(from, 'secrets.yaml') : from;
  const bytes = await readFile(bundlePath).catch(() => missing(bundlePath));
  const document = await openBundle(bytes, { ...options.credentials, path: bundlePath });
  const found = isFolder ? await configurationsIn(from) : [];
  for (const each of found) checkFits(document, each);
  const planes = found.filter((each) => each.view.role === 'controlplane');
  const workers = found.filter((each) => each.view.role === 'worker');
  return {
    controlPlanes: countOf(planes, 3),
    workers: countOf(workers, 1),
    async blueprint(wanted) {
      checkVersion(found, wanted.talosVersion);
      let copy: Copy = { document, configurations: found.map((each) => each.text) };
      if (options.replaceKeys) copy = await replaceKeys(copy, wanted);
      const texts = new Map(found.map((each, index) => [each, copy.configurations[index] ?? each.text]));
      return {
        clusterName: found[0]?.view.clusterName ?? CLUSTER_NAME,
        bundle: copy.document,
        placements: place({ planes, workers, texts, bundle: copy.document, wanted }),
      };
    },
  };
}

function missing(path: string): never {
  throw new LabError(
    'directory',
    `${path} cannot be read; expected a directory with secrets.yaml and machine configurations, or a secrets.yaml`,
    'Check --from.',
  );
}

/** One configuration without a name is a template for as many machines as a usual cluster has. */
function countOf(found: readonly Found[], usual: number): number {
  return found.length === 0 || (found.length === 1 && found[0]?.hostname === '') ? usual : found.length;
}

async function configurationsIn(directory: string): Promise<Found[]> {
  const found: Found[] = [];
  for (const name of (await readdir(directory)).sort()) {
    if (!/\.ya?ml$/.test(name)) continue;
    const file = join(directory, name);
    const text = await readFile(file, 'utf8');
    // Other files of a cluster directory: patches, secrets, Ichor's own.
    if (!/^machine:/m.test(text) || !/^\s+type:\s+["']?(controlplane|worker|init)/m.test(text)) continue;
    found.push({ file, text, view: readMachineConfig(text, file), hostname: hostnameOf(text) });
  }
  return found;
}

function hostnameOf(text: string): string {
  const configuration = readFullConfiguration(text);
  const { network } = configuration.machine;
  const legacy = typeof network === 'object' && network !== null && 'hostname' in network ? network.hostname : '';
  return asText(configuration.document('HostnameConfig')?.hostname ?? legacy);
}

/** A configuration of another cluster would make machines that nobody can talk to. */
function checkFits({ bundle, path }: BundleDocument, { file, view }: Found): void {
  const found = view.talos.issuing ?? view.talos.accepted[0];
  if (found?.fingerprint === bundle.talos.certificate.fingerprint) return;
  throw new LabError(
    'directory',
    `${file} has the Talos CA ${found?.fingerprint.slice(0, 16) ?? 'none'}, and ${path} has ${bundle.talos.certificate.fingerprint.slice(0, 16)}; expected the same`,
    'Rehearse on configurations and secrets of one cluster, at one time.',
  );
}

function checkVersion(found: readonly Found[], version: string): void {
  const typed = found.find((each) => each.view.minimumTalos !== undefined);
  if (typed === undefined || Number(version.split('.')[1]) >= 14) return;
  throw new LabError(
    'directory',
    `${typed.file} has documents that Talos knows from 1.14 on; ${version} was asked for`,
    'Leave --talos out.',
  );
}

interface Placing {
  readonly planes: readonly Found[];
  readonly workers: readonly Found[];
  readonly texts: ReadonlyMap<Found, string>;
  readonly bundle: BundleDocument;
  readonly wanted: BlueprintOptions;
}

/** Configurations go round where there are fewer than machines; a role without any gets those that Talos would make. */
function place({ planes, workers, texts, bundle, wanted }: Placing): Placement[] {
  const made = new Map(placementsOf(bundle, wanted).map((each) => [each.name, each]));
  const taken = new Set<string>();
  const turn = { controlplane: 0, worker: 0 };
  return slotsOf(wanted).flatMap((slot) => {
    const own = slot.role === 'controlplane' ? planes : workers;
    const found = own[turn[slot.role] % Math.max(1, own.length)];
    turn[slot.role] += 1;
    if (found === undefined) return made.get(slot.name) ?? [];
    const name = found.hostname === '' || taken.has(found.hostname) ? slot.name : found.hostname;
    taken.add(name);
    return { ...slot, name, config: atEndpoint(texts.get(found) ?? found.text, found, wanted) };
  });
}

/** The machines of a lab must not even name the real endpoint. */
function atEndpoint(text: string, { view, file }: Found, { addresses }: BlueprintOptions): string {
  if (view.endpoint === undefined) {
    throw new LabError('directory', `${basename(file)} names no endpoint of the Kubernetes API; expected one`);
  }
  return text.replaceAll(view.endpoint, endpointUrl(addresses));
}
