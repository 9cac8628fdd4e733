import { fromKubeconfig } from '../../../pkg/kube/index.ts';
import type { Certificate } from '../../../pkg/pki/index.ts';
import { parseTalosconfig } from '../../../pkg/talos/index.ts';
import type { ClusterState } from '../../store/index.ts';
import type { CredentialFiles } from './credential-files.ts';
import { authoritiesFor } from './credentials.ts';
import { whyRenew } from './refresh.ts';

/** How one of the files of credentials stands, in words. */
export interface FileStanding {
  readonly file: 'talosconfig' | 'kubeconfig';
  readonly standing: string;
  readonly expires: string | null;
}

/**
 * How the administrator's credentials in the directory stand; a file that is not there or cannot be read is said so. During
 * a rotation those of the old CA are good until the new ones are taken, and those of the new one from then on.
 */
export async function credentialStanding(
  files: CredentialFiles,
  state: ClusterState,
  now: number,
): Promise<FileStanding[]> {
  const { talosconfig, kubeconfig } = await files.read();
  return [
    await standingOf('talosconfig', authoritiesFor(state, 'talos').trust, now, async () => {
      if (talosconfig === undefined) return undefined;
      const config = parseTalosconfig(talosconfig, files.path('talosconfig'));
      return config.contexts[config.context]?.credentials?.certificate;
    }),
    await standingOf('kubeconfig', authoritiesFor(state, 'kubernetes').trust, now, async () => {
      if (kubeconfig === undefined) return undefined;
      const { credentials } = await fromKubeconfig(kubeconfig, { where: files.path('kubeconfig') });
      return credentials.kind === 'certificate' ? credentials.certificate : undefined;
    }),
  ];
}

async function standingOf(
  file: FileStanding['file'],
  authorities: readonly Certificate[],
  now: number,
  read: () => Promise<Certificate | undefined>,
): Promise<FileStanding> {
  try {
    const certificate = await read();
    if (certificate === undefined)
      return { file, standing: 'not there; ichor cluster credentials makes it', expires: null };
    const why = whyRenew(certificate, authorities, now);
    const expires = new Date(certificate.notAfter).toISOString();
    return { file, standing: why === undefined ? `valid until ${expires}` : `to be renewed: ${why}`, expires };
  } catch (error) {
    return { file, standing: error instanceof Error ? error.message : String(error), expires: null };
  }
}
